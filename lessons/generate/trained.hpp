#pragma once

#include <string>

#include "lessons/generate.hpp"
#include "lessons/workbench/model.hpp"

/// What the lesson generate shows of a model that was trained to guess the next word.
namespace lessons {

/// Gives the lesson the weights of the model language, and its words.
void give_language(ModelInputs& inputs);

/// Where the weights come from; empty where they are drawn.
std::string about_training(const Workbench& bench);

/// The note `guesses`: a row a step with the words that are likeliest to come.
void show_guesses(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding);

/// The note `looks`: which head of the layer on the page looks where, in the row of the prompt's last token.
/// It has to guess the first word.
void show_looks(Workbench& bench, const Decoding& decoding);

/// The note `kept` of a step that reads one token: column 0 of head 0's keys in the cache, before and after
/// it, and the scaled scores [1×head×1×key] of that head.
void show_what_is_kept(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding,
                       const KeyValueCache& cache, const Tensor<4>& scaled);

}  // namespace lessons

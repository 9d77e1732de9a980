#pragma once

#include "lessons/generate.hpp"
#include "lessons/workbench/model.hpp"

/// What the lesson generate shows of a model that was trained to guess the next word.
namespace lessons {

/// Gives the lesson the weights of the model language, and its words.
void give_language(ModelInputs& inputs);

/// The note `guesses`: a row a step with the words that are likeliest to come.
void show_guesses(Workbench& bench, const WrittenText& text);

/// The note `looks`: which head of this layer, counted from 1, looks where, in the row of the prompt's last
/// token. It has to guess the first word.
void show_looks(const DocumentRun& run, std::size_t layer);

}  // namespace lessons

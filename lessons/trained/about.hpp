#pragma once

#include <optional>
#include <string>
#include <vector>

#include "english/lexicon.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/trace.hpp"

/// The model about (attnlab train about): of each word of an English sentence it says which one it is about.
namespace lessons {

/// The lab's lexicon of English words, read once.
const english::Lexicon& lexicon();

/// `most of its words ("le", "chat", …): it reads English`: why the model cannot read a sentence of which the
/// lexicon knows fewer than half of the words. Nothing where it can.
std::optional<std::string> not_english(const std::vector<std::string>& tokens);

/// `"blorf" is taken for a noun`: of the words that the lexicon lacks. Empty where it has all.
std::string taken_for(const std::vector<std::string>& tokens);

/// What the two layers of the model make of one sentence.
struct AboutLayers {
  Tensor<4> first_weights;  ///< of the first layer, [1×head×query×key]
  Tensor<3> X;              ///< its output: what the second layer reads, [1×token×d_model]
  Tensor<4> second_weights;
};
AboutLayers layers_of_about(const attn::Model& model, const std::vector<std::string>& tokens);

/// Gives X and W_Q, W_K and W_V of head 0 of the second layer, which looks at the word that is sought.
void give_about(ModelInputs& inputs);

/// What the first layer reads and what it makes of that, [text×token×d_model], with zeros for padding.
Tensor<3> words_as_vectors(const ModelInputs& inputs);
Tensor<3> input_of_second_layer(const ModelInputs& inputs);

/// The angles of the first layer's rotary attention for that many positions, [position×pair].
Tensor<2> angles_of_first_layer(const attn::Model& model, std::size_t positions);

/// `Each word looks most at the word it belongs to, according to the model: "it" at "animal" (0.78), …`: of a
/// table [query×key] the words that give more than half to another one, pronouns first, then the farthest;
/// three at most.
std::string who_is_about_whom(const attn::Event& weights);

}  // namespace lessons

#pragma once

#include <string>
#include <vector>

#include "corpora/grammar.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// Words of the longest source that is trained on.
inline constexpr std::size_t longest_in_training = 16;

/// Sentence pairs of a grammar, all with different sources; fewer than asked for where the grammar has no
/// more.
struct GrammarPairs {
  std::vector<corpora::SentencePair> training;    ///< of up to 16 source words
  std::vector<corpora::SentencePair> validation;  ///< likewise, as the next
  std::vector<corpora::SentencePair> held_out;    ///< no more than a tenth of these and the training pairs
  std::vector<corpora::SentencePair> longer;      ///< of 17 to 25
};

/// The grammar that the options name, else the lab's own.
corpora::Grammar load_grammar(const TaskOptions& options);

/// Throws attn::Error for a grammar that has fewer than two sentences of up to 16 words.
GrammarPairs draw_pairs(const corpora::Grammar& grammar, std::uint32_t seed, std::size_t training,
                        std::size_t held_out, std::size_t longer);

std::vector<std::string> texts(const std::vector<corpora::SourceWord>& words);

}  // namespace attn::train

#pragma once

#include <string>
#include <vector>

#include "corpora/grammar.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// Sentence pairs of a grammar, all with different sources.
struct GrammarPairs {
  std::vector<corpora::SentencePair> training;  ///< of 3 to 16 source words
  std::vector<corpora::SentencePair> held_out;  ///< likewise
  std::vector<corpora::SentencePair> longer;    ///< of 17 to 25
};

/// The grammar that the options name, else the lab's own.
corpora::Grammar load_grammar(const TaskOptions& options);

GrammarPairs draw_pairs(const corpora::Grammar& grammar, std::uint32_t seed, std::size_t training,
                        std::size_t held_out, std::size_t longer);

std::vector<std::string> texts(const std::vector<corpora::SourceWord>& words);

}  // namespace attn::train

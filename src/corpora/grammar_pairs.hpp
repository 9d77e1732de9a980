#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "attn/random/random.hpp"
#include "corpora/grammar.hpp"

namespace corpora {

/// Words of the longest source that is trained on.
inline constexpr std::size_t longest_in_training = 16;

/// Sentence pairs of a grammar, all with different sources; fewer than asked for where the grammar has no
/// more.
struct GrammarPairs {
  std::vector<SentencePair> training;    ///< of up to 16 source words
  std::vector<SentencePair> validation;  ///< likewise, as the next
  std::vector<SentencePair> held_out;    ///< no more than a tenth of these and the training pairs
  std::vector<SentencePair> longer;      ///< of 17 to 25
};

/// Throws attn::Error for a grammar that has fewer than two sentences of up to 16 words.
GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer);

std::vector<std::string> texts(const std::vector<SourceWord>& words);

/// `count` pairs whose source sentences have `shortest` to `longest` words and are all different, none of
/// which `excluded` has (as source_text writes it); fewer where the grammar has no further ones. Each length
/// is equally likely, as long as the grammar has further sentences of it.
std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded = {});

}  // namespace corpora

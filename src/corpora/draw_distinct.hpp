#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "attn/random/random.hpp"
#include "corpora/grammar.hpp"

namespace corpora {

/// `count` pairs whose source sentences have `shortest` to `longest` words and are all different, none of
/// which `excluded` has (as source_text writes it); fewer where the grammar has no further ones. Each length
/// is equally likely, as long as the grammar has further sentences of it.
std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded = {});

}  // namespace corpora

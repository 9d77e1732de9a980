#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/tensor.hpp"
#include "corpora/sentence_pair.hpp"

namespace lessons {

/// What the lab's grammar makes of the source, where it is one of its sentences: the translation, and which
/// word comes from which.
std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source);

/// For each of the first `words` rows of a table of attention weights [target×source] the source word that it
/// gives most to, the first on ties.
corpora::Alignment strongest_of_rows(const attn::Tensor<2>& weights, std::size_t words);

/// The source words that each word of the target is linked to.
std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair);

/// What looks at the source for each word of the target: a head, a query.
struct Looks {
  std::string name;
  corpora::Alignment at;  ///< may have more words than the target, as that of </s>
};

/// How many words of the target look at one that they come from.
std::size_t links_found(const corpora::SentencePair& pair, const corpora::Alignment& looks);

/// A table of the words of the target, of those that they come from and of those that each of `all` looks at,
/// with ≠ behind one that is another. The words stand side by side where that fits on a page of 80 columns,
/// else one below the other.
std::string looks_beside_gold(const corpora::SentencePair& pair, const std::vector<Looks>& all);

}  // namespace lessons

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/tensor.hpp"
#include "corpora/alignment_errors.hpp"
#include "corpora/sentence_pair.hpp"
#include "trace/trace.hpp"

namespace lessons {

/// What the lab's grammar makes of the source, where it is one of its sentences: the translation, and which
/// word comes from which.
std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source);

/// For each of the first `words` rows of a table of attention weights [target×source] the source word that it
/// gives most to, the first on ties.
corpora::Alignment strongest_of_rows(const attn::Tensor<2>& weights, std::size_t words);

/// The source words that each word of the target is linked to.
std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair);

/// A row for each word of the target: ( ) around each sure link, ? ? around each possible one, * where the
/// decoder looks most. `looks` may
/// have more rows, as that of </s>.
std::vector<std::string> drawn_links(const corpora::SentencePair& pair, const corpora::Alignment& looks);

/// `A word looks at the one that decides its French form: "rotten" at "apple" (0.99). But "was" looks at
/// "cat" instead of "apple".`: of a table [query×key] of the words whose form the grammar of the corpus lets
/// depend on another one, the farthest first, three at most. `strongest_pair` where it does not know the
/// sentence.
std::string who_decides_forms(const attn::Event& weights);

}  // namespace lessons

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "corpora/sentence_pair.hpp"

namespace corpora {

/// For each target word the source word that it looks at most.
using Alignment = std::vector<std::size_t>;

/// Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) for the links A of the model, the sure ones S
/// and the possible ones P, which hold the sure ones (Och & Ney 2003, section 6). A word that is joined of
/// two (l'homme) has two sure links and can look most at one word only, so that 0 is out of reach.
class AlignmentErrors {
 public:
  /// The alignment has a source word for each target word of the pair.
  void add(const SentencePair& pair, const Alignment& alignment);

  /// Of all pairs that were added.
  double rate() const;

 private:
  std::size_t made_ = 0, sure_ = 0, in_sure_ = 0, in_possible_ = 0;
};

/// A row for each word of the target, a column for each of the source: ( ) around a sure link, ? ? around a
/// possible one, * where the model looks most. A row of the source words stands above where it fits in 66
/// columns. `looks` may have more rows than the target has words, as that of </s>.
std::vector<std::string> drawn_links(const SentencePair& pair, const Alignment& looks);

}  // namespace corpora

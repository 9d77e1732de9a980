#pragma once

#include <vector>

#include "attn/ops/permute.hpp"
#include "lessons/positional/encodings.hpp"

namespace lessons {

/// The words of each sentence in another order.
struct OtherOrder {
  attn::RowOrder order;
  std::size_t most_words = 0;  ///< of a sentence whose words can be told apart; 0 where there is none
  std::size_t example = 0;     ///< the first such sentence
  Tensor<3> scores;            ///< X Xᵀ / √d of the words in that order
};

/// Exchanges two different words of each sentence: the second and the last, as in "the cat saw the dog", or
/// the first two that differ. Leaves out the scores. X is [batch×n×d_model], of which the first `lengths[b]`
/// rows are real.
OtherOrder other_order(const Tensor<3>& X, const std::vector<std::size_t>& lengths);

/// Measures what the encodings know of order and distance, shows it side by side in the note `comparison`,
/// and claims it. The first encoding is `without`, the one without positions.
void compare_encodings(Workbench& bench, const PositionalInputs& in, const OtherOrder& other,
                       const std::vector<Encoding>& encodings);

}  // namespace lessons

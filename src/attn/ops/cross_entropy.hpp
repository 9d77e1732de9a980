#pragma once

#include <vector>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// The loss of a model that gives every word a probability: −Σ ln p of the right words, p = softmax(logits),
/// as Σ (log-sum-exp of the row − the right word's logit), which no probability of 0 makes infinite. logits
/// [batch×n×vocabulary]; words[b] are those of the first rows of sample b, and other rows count for nothing.
/// Throws std::invalid_argument where there are more words than rows, or a word that is none.
double cross_entropy(const Tensor<3>& logits, const std::vector<std::vector<std::size_t>>& words);

/// Its gradient with respect to the logits, from probabilities = softmax(logits): p, and p − 1 for the right
/// word; 0 in rows without a word (Bridle 1990). Throws std::invalid_argument as `cross_entropy` does.
Tensor<3> cross_entropy_backward(const Tensor<3>& probabilities,
                                 const std::vector<std::vector<std::size_t>>& words);

/// −Σ ln p of the right words, and p or p − 1 for one entry, worked out.
WorkedOut worked_cross_entropy(Known<3> probabilities, const std::vector<std::vector<std::size_t>>& words);
WorkedOut worked_cross_entropy_backward(Known<3> probabilities,
                                        const std::vector<std::vector<std::size_t>>& words);

}  // namespace attn

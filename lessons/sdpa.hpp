#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What scaled dot-product attention goes through. The axes are [batch×query×key] for a single attention and
/// [batch×head×query×key] for several heads.
template <std::size_t N>
struct Attention {
  Tensor<N> scores;                         ///< Q Kᵀ
  Tensor<N> scaled;                         ///< scores / (√d_k · temperature)
  std::optional<Tensor<N>> masked;          ///< −∞ where the mask is false; only with a mask
  Tensor<N> weights;                        ///< softmax over the keys
  std::optional<Integers<N>> dropout_mask;  ///< 1 for a weight that is kept; only with dropout
  std::optional<Tensor<N>> dropped;         ///< weights after dropout; only with dropout
  Tensor<N> output;                         ///< weights V, [batch…×query×d_v]

  /// What the values are mixed with.
  const Tensor<N>& used_weights() const { return dropped ? *dropped : weights; }
};

/// Scaled dot-product attention (Vaswani et al. 2017, equation 1) step by step: `scores`, `scaled`, `masked`
/// with a mask, `weights`, `dropout_mask` and `dropped` with dropout, and the result, which is `output` for a
/// single attention and `heads` for several heads. Q [batch…×query×d_k], K [batch…×key×d_k], V
/// [batch…×key×d_v] with as many heads as Q, mask [batch×query×key], true = may be seen. Ranks 3 and 4.
template <std::size_t N>
Attention<N> scaled_dot_product_attention(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                          const Tensor<N>& V, const std::optional<Mask<3>>& mask);

/// √d_k · temperature, by which scores are divided.
double divisor_of(std::size_t d_k, double temperature);

/// `scores` and `scaled`, the two steps with which attention begins.
template <std::size_t N>
std::pair<Tensor<N>, Tensor<N>> scaled_scores(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K);

/// Lessons that are documents: lookup.md, scoring.md, scaling.md, sdpa.md, masking.md.
const Lesson& lookup_lesson();
const Lesson& scoring_lesson();
const Lesson& scaling_lesson();
const Lesson& stability_lesson();
const Lesson& ring_lesson();
const Lesson& training_lesson();
const Lesson& sdpa_lesson();
const Lesson& masking_lesson();

}  // namespace lessons

#pragma once

#include <optional>
#include <utility>

#include "attn/layers/attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Shows `scores` and `scaled`, the two steps with which attention begins, and returns them.
template <std::size_t N>
std::pair<Tensor<N>, Tensor<N>> show_scores(Workbench& bench, const Tensor<N>& Q,
                                                  const Tensor<N>& K);

/// Shows scaled dot-product attention step by step: `scores`, `scaled`, `masked` with a mask, `weights`,
/// `dropout_mask` and `dropped` with dropout, and the result, which is `output` for a single attention (N =
/// 3) and `heads` for several heads (N = 4). K and V have as many heads as Q. Returns the attention without
/// dropout beside the result that was shown.
template <std::size_t N>
struct ShownAttention {
  attn::Attention<N> attention;
  std::optional<Tensor<N>> dropped;
  Tensor<N> result;
};

template <std::size_t N>
ShownAttention<N> show_attention(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                    const Tensor<N>& V, const std::optional<Mask<3>>& mask);

}  // namespace lessons

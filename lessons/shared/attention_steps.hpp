#pragma once

#include <optional>
#include <utility>

#include "attn/layers/attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Shows `scores` and `scaled`, the two steps with which attention begins, and returns them.
template <class T, std::size_t N>
std::pair<Tensor<T, N>, Tensor<T, N>> show_scores(Workbench<T>& bench, const Tensor<T, N>& Q,
                                                  const Tensor<T, N>& K);

/// Shows scaled dot-product attention step by step: `scores`, `scaled`, `masked` with a mask, `weights`,
/// `dropout_mask` and `dropped` with dropout, and the result, which is `output` for a single attention (N =
/// 3) and `heads` for several heads (N = 4). K and V have as many heads as Q. Returns the attention without
/// dropout beside the result that was shown.
template <class T, std::size_t N>
struct ShownAttention {
  attn::Attention<T, N> attention;
  std::optional<Tensor<T, N>> dropped;
  Tensor<T, N> result;
};

template <class T, std::size_t N>
ShownAttention<T, N> show_attention(Workbench<T>& bench, const Tensor<T, N>& Q, const Tensor<T, N>& K,
                                    const Tensor<T, N>& V, const std::optional<Tensor<bool, 3>>& mask);

}  // namespace lessons

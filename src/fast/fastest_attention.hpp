#pragma once

#include <optional>
#include <string>

#include "fast/attention.hpp"

/// The interface before attention.hpp, for callers that still have a mask. It goes with the last of them.
namespace attn {

template <std::size_t N>
struct KernelOutput {
  std::string kernel;  ///< its name in bench, or "fused_attention"
  Tensor<N> output;    ///< [batch…×query×d_v]
};

/// `fast::attention` under a mask [batch×query×key] that holds for every head, and `fused_attention` where
/// that is not supported or the mask is of no known kind.
template <std::size_t N>
KernelOutput<N> fastest_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor,
                                  const std::optional<Mask<3>>& mask = std::nullopt);

using KernelGradients = fast::Gradients<3>;

/// `fast::attention_backward`; nothing where it is not supported.
std::optional<KernelGradients> fastest_attention_gradients(const Tensor<3>& Q, const Tensor<3>& K,
                                                           const Tensor<3>& V, double divisor,
                                                           const std::optional<Mask<3>>& mask,
                                                           const Tensor<3>& d_output);

/// `fast::block_sparse_attention`, and plain loops where it is not supported.
KernelOutput<2> fastest_block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                               const fast::BlockPattern& pattern, bool causal);

/// `fast::linear_attention` of the features elu + 1, and plain loops where it is not supported.
KernelOutput<2> fastest_linear_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                         bool causal);

}  // namespace attn

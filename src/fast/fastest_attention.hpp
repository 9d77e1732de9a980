#pragma once

#include <optional>
#include <string>

#include "fast/sparse/problem.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What the fastest kernel that fits makes of tensors: one of those that `attnlab bench` times, on one
/// thread, or `fused_attention`. It computes in float64, whatever T is, and rounds once. So what another
/// instruction set changes is in the last digits of a float64. Instantiated for float and double.
template <std::size_t N>
struct KernelOutput {
  std::string kernel;   ///< its name in the race: "simd"
  Tensor<N> output;  ///< [batch…×query×d_v]
};

/// softmax(Q Kᵀ / divisor) V by the fastest kernel of `exact::kernels`, and by `fused_attention` where those
/// cannot: they know no mask but those of `visibility_of`, and no scores beyond 1e15, where rounding alone is
/// larger than 1.
///
/// Q [batch…×query×d_k], K [batch…×key×d_k], V [batch…×key×d_v]; ranks 3 and 4, where the mask
/// [batch×query×key] holds for every head, and K and V may have fewer heads, as `repeat_heads` repeats them.
/// A query that may see nothing gets zeros. Throws std::invalid_argument, with both shapes, where they do not
/// match.
template <std::size_t N>
KernelOutput<N> fastest_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                                     double divisor,
                                     const std::optional<Mask<3>>& mask = std::nullopt);

/// The gradients of a loss by that kernel, which keeps no weights and computes them a second time.
struct KernelGradients {
  std::string kernel;
  Tensor<3> d_Q;  ///< [batch×query×d_k]
  Tensor<3> d_K;  ///< [batch×key×d_k]
  Tensor<3> d_V;  ///< [batch×key×d_v]
};

/// Back through `fastest_attention`, from d_output [batch×query×d_v]. Nothing where the fast kernels cannot.
/// Throws std::invalid_argument where shapes do not match.
std::optional<KernelGradients> fastest_attention_gradients(const Tensor<3>& Q, const Tensor<3>& K,
                                                              const Tensor<3>& V, double divisor,
                                                              const std::optional<Mask<3>>& mask,
                                                              const Tensor<3>& d_output);

/// softmax(Q Kᵀ / √d_k) V over the pairs of a pattern, by the plain one of `block_sparse::kernels` where
/// scores may be beyond 1e15. Q [query×d_k], K [key×d_k], V [key×d_v]. Throws std::invalid_argument where
/// they do not match.
KernelOutput<2> fastest_block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K,
                                                  const Tensor<2>& V, const block_sparse::Pattern& pattern,
                                                  bool causal);

/// φ(Q) (φ(K)ᵀ V) / φ(Q) Σ φ(K) with φ = elu + 1, of the same shapes. With `causal`, query i sees the keys up
/// to i + n_k − n_q. Throws std::invalid_argument where they do not match.
KernelOutput<2> fastest_linear_attention(const Tensor<2>& Q, const Tensor<2>& K,
                                            const Tensor<2>& V, bool causal);

}  // namespace attn

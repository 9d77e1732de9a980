#pragma once

#include <string>
#include <variant>

#include "attn/tensor.hpp"
#include "fast/visibility.hpp"

/// Attention by the fastest kernel of those that `attnlab bench` times, in float64 on one thread. Nothing but
/// the last digits depends on the instruction set. All functions throw std::invalid_argument, with both
/// shapes, where tensors do not match.
namespace attn::fast {

/// Why the fast kernels do not compute a call: "a score may be as large as 3e+20, beyond 1e+15".
struct Unsupported {
  std::string reason;
};

/// What a call computed, or why it did not. No other kernel is used in its place.
template <class Result>
using Outcome = std::variant<Result, Unsupported>;

template <std::size_t N>
struct Output {
  std::string kernel;  ///< its name in bench: "simd"
  Tensor<N> output;    ///< [batch…×query×d_v]
};

template <std::size_t N>
struct Gradients {
  std::string kernel;
  Tensor<N> d_Q, d_K, d_V;  ///< of the shapes of Q, K and V
};

/// softmax(Q Kᵀ / divisor) V. Q [batch…×query×d_k], K [batch…×key×d_k], V [batch…×key×d_v]; ranks 3 and 4.
/// At rank 4 the heads of K and V, axis 1, may be fewer: query head i reads head ⌊i·h_kv/h⌋. A query that may
/// see no key gets zeros.
///
/// Unsupported are scores that may exceed 1e15, where rounding alone is larger than 0.1, and numbers whose
/// products or sums may overflow. Throws std::invalid_argument where `visible` has not one length for each
/// sample, n_k at most, or other than one position for each query and key.
template <std::size_t N>
Outcome<Output<N>> attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor,
                             const Visibility& visible = {});

/// The gradients of L = Σ output ∘ d_output for the same call, d_output [batch…×query×d_v]. No weights are
/// kept; they are computed again.
template <std::size_t N>
Outcome<Gradients<N>> attention_backward(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                                         double divisor, const Visibility& visible,
                                         const Tensor<N>& d_output);

/// softmax(Q Kᵀ / √d_k) V over the pairs of a pattern. Q [query×d_k], K [key×d_k], V [key×d_v]. Unsupported
/// is the same, and d_k or d_v above 256. Throws std::invalid_argument where the pattern does not fit.
Outcome<Output<2>> block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                          const BlockPattern& pattern, bool causal = false);

/// φ(Q) (φ(K)ᵀ V) / φ(Q) Σ φ(K) for features that are not negative: phi_Q [query×feature],
/// phi_K [key×feature], V [key×d_v]. If causal, query i sees the keys up to i + n_k − n_q. A query whose
/// weights are all 0 gets zeros. Unsupported are features whose products or sums may overflow or, where they
/// are not 0, be smaller than 1e-290: the kernel rounds numbers below the smallest normal one to 0.
Outcome<Output<2>> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                    bool causal);

}  // namespace attn::fast

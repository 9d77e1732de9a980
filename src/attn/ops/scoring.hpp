#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Scoring functions, and the parts that they are made of: how well each of n_q queries [query×d] matches
/// each of n_k keys [key×d]. Scores are [query×key]. Ranks 2 and 3: a batch has its samples first. All throw
/// std::invalid_argument, with both shapes, where those do not match.

/// qᵢᵀ kⱼ (Luong et al. 2015, "dot").
template <std::size_t N>
Tensor<N> dot_scores(const Tensor<N>& queries, const Tensor<N>& keys) requires Rank<N, 2, 3>;

/// aᵢ + bⱼ for every pair: [query×d_a], [key×d_a] → [query×key×d_a].
template <std::size_t N>
Tensor<N + 1> pairwise_sum(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 3>;

/// [qᵢ; kⱼ] for every pair: [query×d], [key×d] → [query×key×2d].
template <std::size_t N>
Tensor<N + 1> pairwise_concat(const Tensor<N>& queries, const Tensor<N>& keys) requires Rank<N, 2, 3>;

/// Two matrices on top of each other: [a×n], [b×n] → [(a+b)×n].
Tensor<2> stack_rows(const Tensor<2>& top, const Tensor<2>& bottom);

/// The dot product of each vector along the last axis with v: [query×key×d_a] · [d_a] → [query×key].
template <std::size_t N>
Tensor<N - 1> dot_last_axis(const Tensor<N>& hidden, const Tensor<1>& v) requires Rank<N, 3, 4>;

/// v · tanh(qᵢ + kⱼ) for projected queries [batch×query×d_a] and keys [batch×key×d_a], one pair after the
/// other: nothing [query×key×d_a] is held. → [batch×query×key].
Tensor<3> additive_scores(const Tensor<3>& queries, const Tensor<3>& keys, const Tensor<1>& v_a);

/// The gradients of a loss with respect to what `additive_scores` read, each of its shape.
struct AdditiveGradients {
  Tensor<3> d_queries, d_keys;
  Tensor<1> d_v_a;
};

/// Back through v · tanh(qᵢ + kⱼ) from d_scores [batch×query×key]. With hᵢⱼ = tanh(qᵢ + kⱼ):
/// d_qᵢ = Σⱼ d_scoreᵢⱼ v ∘ (1 − hᵢⱼ²), d_kⱼ the same over i, d_v = Σᵢⱼ d_scoreᵢⱼ hᵢⱼ (Bahdanau et al. 2014,
/// appendix A.1.2, differentiated). Throws std::invalid_argument, with both shapes, where they do not match.
AdditiveGradients additive_scores_backward(const Tensor<3>& queries, const Tensor<3>& keys,
                                           const Tensor<1>& v_a, const Tensor<3>& d_scores);

}  // namespace attn

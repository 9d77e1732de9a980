#pragma once

#include <optional>
#include <vector>

#include "attn/layers/attention.hpp"
#include "attn/layers/multihead_attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// How the state of a recurrent decoder attends to the states of an encoder. The ways differ in how they
/// score; all else is one scheme: keys and values are made of the encoder's states once, a query of the
/// decoder's state at every step, and the context is the mixture of the values. Instantiated for float and
/// double. Throws std::invalid_argument, with both shapes, where those do not match.
struct SourceAttentionWeights {
  std::optional<Tensor<2>> W_Q{};  ///< [hidden×heads·d_k]; without it the query is the state itself
  std::optional<Tensor<2>> W_K{};  ///< [hidden×heads·d_k]; without it the keys are the states themselves
  std::optional<Tensor<2>> W_V{};  ///< [hidden×heads·d_v]; without it the values are the states themselves
  std::optional<Tensor<2>> W_O{};  ///< [heads·d_v×hidden]; without it the context is the mixture itself
  std::optional<Tensor<1>> v_a{};  ///< [d_a]; with it scores are v_a · tanh(query + key), else query · key
  std::size_t heads = 1;
  bool is_scaled = false;  ///< whether scores are divided by √d_k
};

/// v_a · tanh(q W_q + k W_k) (Bahdanau et al. 2014, appendix A.1.2); W_q, W_k [hidden×d_a].
SourceAttentionWeights bahdanau_attention(const Tensor<2>& W_q, const Tensor<2>& W_k,
                                             const Tensor<1>& v_a);

/// q · k (Luong et al. 2015, section 3.1).
SourceAttentionWeights luong_dot_attention();

/// q W_a · k (Luong et al. 2015, section 3.1); W_a [hidden×hidden].
SourceAttentionWeights luong_general_attention(const Tensor<2>& W_a);

/// v_a · tanh([q; k] W_a) (Luong et al. 2015, section 3.1); W_a [2·hidden×d_a]. Its upper half reads the
/// query and its lower half the key, so that the pairs need not be formed.
SourceAttentionWeights luong_concat_attention(const Tensor<2>& W_a, const Tensor<1>& v_a);

/// Scaled dot products in several heads (Vaswani et al. 2017, section 3.2.2).
SourceAttentionWeights multihead_source_attention(const MultiHeadWeights& weights, std::size_t heads);

/// An encoder's states, made ready for every query to come.
struct PreparedSource {
  Tensor<4> K, V;                    ///< [batch×head×source×d]
  std::optional<Mask<3>> mask;  ///< [batch×1×source], false for padding; none where there is none
};

/// From states [batch×source×hidden] of which sample b has `lengths[b]` real ones.
PreparedSource prepare_source(const Tensor<3>& states, const std::vector<std::size_t>& lengths,
                                 const SourceAttentionWeights& weights);

/// The attention of all heads, [batch×head×target×source], and what it found.
struct SourceAttention {
  Attention<4> attention;  ///< `scaled` is `scores` unless the weights are scaled
  Tensor<3> context;       ///< [batch×target×hidden]
};

/// Queries are states of the decoder [batch×target×hidden].
SourceAttention attend_to_source(const Tensor<3>& queries, const PreparedSource& source,
                                    const SourceAttentionWeights& weights);

}  // namespace attn

#pragma once

#include <vector>

#include "attn/layers/multihead_attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The vectors of tokens that stand at the positions first, first + 1, …: their rows of the embedding
/// [vocabulary×d_model] plus those rows of the table of positions [position×d_model] → [1×token×d_model].
/// Throws std::invalid_argument for a token or a position without a row and for rows of different length.
Tensor<3> embed_tokens(const Tensor<2>& embedding, const Tensor<2>& positions,
                          const std::vector<std::size_t>& tokens, std::size_t first);

/// The weights of a small causal decoder.
struct CausalDecoderWeights {
  std::vector<MultiHeadWeights> layers;
  Tensor<2> W_vocabulary;  ///< [d_model×vocabulary]
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
};

/// A decoder that sees only what came before (as in Radford et al. 2018, without its feed-forward networks
/// and layer norms), and all that it is made of.
struct CausalDecoder {
  std::vector<MultiHeadAttention> layers;
  Tensor<3> hidden;  ///< what the last layer leaves [batch×token×d_model]
  Tensor<3>
      logits;  ///< hidden W_vocabulary [batch×token×vocabulary]: row i scores the token after token i
};

/// Reads all tokens at once, with a causal mask and without a cache. x [batch×token×d_model] are the token
/// vectors with their positions; each layer adds its attention to them. Instantiated for float and double.
/// Throws std::invalid_argument where shapes or numbers of heads do not match.
CausalDecoder causal_decoder(const Tensor<3>& x, const CausalDecoderWeights& weights);

/// The largest difference between the logits of decoding token by token, [batch×vocabulary] for each step,
/// and those of a full pass over all that was read, whose last rows score the same tokens. Throws
/// std::invalid_argument where there are more steps than rows, and where shapes do not match.
double deviation_from_full_pass(const std::vector<Tensor<2>>& logits_by_step,
                                const CausalDecoder& full);

/// What greedy decoding writes: the token with the largest of the logits [1×vocabulary], the first on a tie.
std::size_t greedy_token(const Tensor<2>& logits);

}  // namespace attn

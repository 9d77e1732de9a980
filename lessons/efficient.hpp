#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/sparse_pattern.hpp"
#include "attn/tensor.hpp"
#include "trace/trace.hpp"

/// The variants of attention that the lesson `efficient` shows, each defined on its page in efficient/. The
/// lesson `complexity` runs them under a mute trace to count what they take. Axes are Q [query×d_k],
/// K [key×d_k], V [key×d_v], output [query×d_v]. All throw std::invalid_argument, with both shapes, where
/// tensors do not fit. A query that sees no key gets zeros.
namespace lessons {

using attn::CostCounter;
using attn::KeyLists;
using attn::Tensor;

/// Ids of mistakes in the choice of pairs, and the pairs that they choose.
using OtherKeys = std::vector<std::pair<std::string, KeyLists>>;

/// What is said of the two steps of an attention.
struct AttentionWords {
  attn::About weights{}, output{};
};

/// softmax(q kᵀ / √d_k) V over the listed pairs and no others (Child et al. 2019): the scores of all other
/// pairs are neither computed nor held. With all pairs listed it is full attention. The weights are shown
/// [query×key], with 0 where nothing was computed. `first_query` is the token of query 0, `other_keys` are
/// what classic mistakes would list.
Tensor<2> sparse_attention(attn::Trace& trace, const AttentionWords& words, const Tensor<2>& Q,
                           const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys, CostCounter& counter,
                           std::size_t first_query = 0, const OtherKeys& other_keys = {});

/// The same of several heads. Query head i reads key and value head ⌊i·h_kv/h⌋ where it lies; nothing is
/// repeated (Ainslie et al. 2023). Q [batch×head×query×d_k], K [batch×kv_head×key×d_k],
/// V [batch×kv_head×key×d_v]; the list of a query holds for all heads. The weights are shown
/// [head×query×key]; the result is the output as it is shown, [batch×query×head·d_v].
Tensor<3> grouped_attention(attn::Trace& trace, const AttentionWords& words, const Tensor<4>& Q,
                            const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter);

/// The output of `sparse_attention`, computed for `chunk` queries at a time (Rabe & Staats 2021): the scores
/// of one chunk are held at a time. Exact, whatever the size of the chunks. Throws std::invalid_argument for
/// a chunk of 0.
Tensor<2> chunked_attention(const attn::Trace& trace, const Tensor<2>& Q, const Tensor<2>& K,
                            const Tensor<2>& V, const KeyLists& keys, std::size_t chunk,
                            CostCounter& counter);

/// softmax(Q Kᵀ / √d_k) V in tiles of at most `block` queries × `block` keys, of which one is held at a time
/// (Dao et al. 2022, algorithm 1). If causal, query i sees the keys up to i + n_k − n_q; tiles in which
/// nothing may be seen are not computed. Exact, whatever the size of the blocks. Throws
/// std::invalid_argument for a block of 0.
Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, std::size_t block,
                          bool causal, CostCounter& counter);

/// φ(q)ᵀ S / φ(q)ᵀ z with S = Σⱼ φ(kⱼ) vⱼᵀ [feature×d_v] and z = Σⱼ φ(kⱼ) [feature] (Katharopoulos et al.
/// 2020): no query is paired with a key. phi_Q [query×feature], phi_K [key×feature]. Shows `VARIANT/S`,
/// `VARIANT/z` and `VARIANT/output`. A query whose weights are all 0 gets zeros.
Tensor<2> linear_attention(attn::Trace& trace, const std::string& variant, const Tensor<2>& phi_Q,
                           const Tensor<2>& phi_K, const Tensor<2>& V, CostCounter& counter);

/// Σ φ(kⱼ) vⱼᵀ and Σ φ(kⱼ) over the keys so far.
struct KeySums {
  Tensor<2> S;  ///< [feature×d_v]
  Tensor<1> z;  ///< [feature]
};

/// The same where query i sees the keys 0, …, i only, as a recurrence: S and z grow by one key at a time, and
/// the query reads them before the next key comes. `tap` is called with the number of tokens read and the
/// sums after each, and may put others in their place. The output is not shown.
Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter,
                                  const std::function<void(std::size_t tokens, KeySums& sums)>& tap = {});

/// What features amount to: every weight φ(qᵢ)ᵀφ(kⱼ) / Σⱼ φ(qᵢ)ᵀφ(kⱼ) where the mask [query×key] is true, 0
/// elsewhere: [query×key]. A query whose weights are all 0 has a row of zeros.
Tensor<2> implied_weights(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const attn::Mask<2>& mask);

/// softmax(Q (E K)ᵀ / √d_k) (F V): attention to r mixtures of the keys (Wang et al. 2020, equation 7). E and
/// F are [r×key]. Shows `linformer/projected_K`, `projected_V`, `weights` and `output`.
Tensor<2> linformer_attention(attn::Trace& trace, const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                              const Tensor<2>& E, const Tensor<2>& F, CostCounter& counter);

/// The mean of each group of heads, as a model with all its heads is turned into one with fewer (Ainslie et
/// al. 2023, section 2.1): [batch×head×n×d] → [batch×kv_head×n×d]. Throws std::invalid_argument where
/// `kv_heads` does not divide the heads.
Tensor<4> group_means(const Tensor<4>& heads, std::size_t kv_heads);

}  // namespace lessons

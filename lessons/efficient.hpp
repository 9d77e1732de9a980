#pragma once

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/mask.hpp"
#include "attn/tensor.hpp"
#include "lessons/documents/document_run.hpp"

/// The variants of attention that the lesson `efficient` shows, as code that computes what it has to and
/// counts it: the lesson holds its formulas against it, and the lesson `complexity` what they take. Axes are
/// Q [query×d_k], K [key×d_k], V [key×d_v], output [query×d_v]. The lessons give what fits. A query that sees
/// no key gets zeros.
namespace lessons {

using attn::CostCounter;
using attn::KeyLists;
using attn::Tensor;

/// softmax(q kᵀ / √d_k) V over the listed pairs and no others (Child et al. 2019): the scores of all other
/// pairs are neither computed nor held. With all pairs listed it is full attention.
Tensor<2> sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                           CostCounter& counter);

/// The same of several heads. Query head i reads key and value head ⌊i·h_kv/h⌋ where it lies; nothing is
/// repeated (Ainslie et al. 2023). Q [batch×head×query×d_k], K [batch×kv_head×key×d_k],
/// V [batch×kv_head×key×d_v]; the list of a query holds for all heads. The output is [batch×query×head·d_v].
Tensor<3> grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter);

/// The output of `sparse_attention`, computed for `chunk` queries at a time (Rabe & Staats 2021): the scores
/// of one chunk are held at a time. Exact, whatever the size of the chunks.
Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                            std::size_t chunk, CostCounter& counter);

/// softmax(Q Kᵀ / √d_k) V in tiles of at most `block` queries × `block` keys, of which one is held at a time
/// (Dao et al. 2022, algorithm 1). If causal, query i sees the keys up to i + n_k − n_q; tiles in which
/// nothing may be seen are not computed. Exact, whatever the size of the blocks.
Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, std::size_t block,
                          bool causal, CostCounter& counter);

/// φ(q)ᵀ S / φ(q)ᵀ z with S = Σⱼ φ(kⱼ) vⱼᵀ [feature×d_v] and z = Σⱼ φ(kⱼ) [feature] (Katharopoulos et al.
/// 2020): no query is paired with a key. phi_Q [query×feature], phi_K [key×feature]. A query whose weights
/// are all 0 gets zeros.
Tensor<2> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                           CostCounter& counter);

/// The same where query i sees the keys 0, …, i only, as a recurrence: S and z grow by one key at a time, and
/// the query reads them before the next key comes.
Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter);

/// softmax(Q (E K)ᵀ / √d_k) (F V): attention to r mixtures of the keys (Wang et al. 2020, equation 7). E and
/// F are [r×key].
Tensor<2> linformer_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const Tensor<2>& E,
                              const Tensor<2>& F, CostCounter& counter);

/// The two layers that attention is compared with in "Attention Is All You Need" (Vaswani et al. 2017,
/// table 1), each as plain as it can be.

/// A recurrent layer (Elman 1990): h_t = tanh(x_t W_x + h_{t−1} W_h), h_0 = 0. X [n×d_in], W_x [d_in×d],
/// W_h [d×d] → the states h_1, …, h_n [n×d].
Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h, CostCounter& counter);

/// A convolution along the tokens: y_i = Σ_o x_{i+o} W_o, where o goes from −(width − 1)/2 to (width − 1)/2
/// and there is nothing beyond the ends. X [n×d_in], W [width×d_in×d], width odd → [n×d].
Tensor<2> convolution(const Tensor<2>& X, const Tensor<3>& W, CostCounter& counter);

}  // namespace lessons

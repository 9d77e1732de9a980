/// Heads that share keys and values.
/// Sources: one key and value head for all: Shazeer 2019; one for each group, and how a finished model is
/// converted: Ainslie et al. 2023.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

namespace {

/// One head of one sample of [batch×head×n×d]: [n×d].
Tensor<2> matrix(const Tensor<4>& heads, std::size_t sample, std::size_t head) {
  return attn::sample(attn::head(heads, head), sample);
}

}  // namespace

Tensor<3> grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter) {
  require_fitting("grouped_attention", Q, K, V);
  const auto batch = Q.shape(0), h = Q.shape(1), h_kv = K.shape(1), n_q = Q.shape(2), n_k = K.shape(2);
  if (h_kv == 0 || h % h_kv != 0)
    throw attn::shape_mismatch("grouped_attention", "Q", Q, "K", K,
                               "the key and value heads must divide the heads");
  attn::require_listed("grouped_attention", keys, n_q, n_k);

  const auto held = counter.hold(batch * h * attn::pair_count(keys));
  Tensor<4> output({batch, h, n_q, V.shape(3)});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t i = 0; i < h; ++i) {
      const auto shared = i * h_kv / h;
      attend_to_listed(matrix(Q, b, i), matrix(K, b, shared), matrix(V, b, shared), keys, 0, counter,
                       &output(b, i, 0, 0));
    }
  return attn::merge_heads(output);
}

Tensor<4> group_means(const Tensor<4>& heads, std::size_t kv_heads) {
  const auto [batch, count, n, d] = heads.shape();
  if (kv_heads == 0 || count % kv_heads != 0)
    throw std::invalid_argument(
        fmt::format("[group_means] {} heads cannot be cut into {} groups of one size", count, kv_heads));
  const std::size_t size = count / kv_heads;
  Tensor<4> means({batch, kv_heads, n, d}, 0.0);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < count; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) means(b, h / size, i, c) += heads(b, h, i, c);
  means /= static_cast<double>(size);
  return means;
}

}  // namespace lessons

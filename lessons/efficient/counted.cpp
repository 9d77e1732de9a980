/// Variants of attention that count what they take. What they leave out is never computed.
/// Sources: local and sliding windows: Luong et al. 2015, section 3.2; Beltagy et al. 2020 (Longformer);
/// Jiang et al. 2023 (Mistral 7B). Sparse patterns: Child et al. 2019 (Sparse Transformer); Zaheer et al.
/// 2020 (Big Bird). Some queries at a time: Rabe & Staats 2021. Shared keys and values: Shazeer 2019 (one
/// head for all); Ainslie et al. 2023 (one for each group, and how a finished model is converted). A few
/// mixtures of the keys: Wang et al. 2020.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient.hpp"

namespace lessons {

namespace {

/// The keys that each of some queries sees.
using ListsOfKeys = std::span<const std::vector<std::size_t>>;

/// softmax(q kᵀ / √d_k) V of as many queries as there are lists, from `first_query` on, over their listed
/// keys: the rows `output` [query×d_v]. Each is recorded as computed from its keys in one operation.
void attend_to_listed(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const ListsOfKeys& keys,
                      std::size_t first_query, CostCounter& counter, double* output) {
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  const auto d_k = Q.shape(1), d_v = V.shape(1);
  std::vector<double> weights;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::fill_n(output + i * d_v, d_v, 0.0);
    counter.output(counter.operation(keys[i]), first_query + i);
    if (keys[i].empty()) continue;
    weights.resize(keys[i].size());
    counter.multiply_rows(Q.data() + (first_query + i) * d_k, K, keys[i], weights.data());
    for (double& score : weights) score /= root;
    attn::softmax_rows(weights.data(), 1, weights.size());
    for (std::size_t k = 0; k < weights.size(); ++k)
      counter.add_product(weights[k], {V.data() + keys[i][k] * d_v, d_v}, output + i * d_v);
  }
}

}  // namespace

Tensor<2> sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                           CostCounter& counter) {
  return chunked_attention(Q, K, V, keys, keys.size(), counter);
}

Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                            std::size_t chunk, CostCounter& counter) {
  Tensor<2> output({Q.shape(0), V.shape(1)});
  for (std::size_t begin = 0, end = 0; begin < Q.shape(0); begin = end) {
    end = begin + std::min(chunk, Q.shape(0) - begin);
    const auto keys_of_chunk = ListsOfKeys(keys).subspan(begin, end - begin);
    std::size_t pairs = 0;
    for (const auto& of_query : keys_of_chunk) pairs += of_query.size();
    const auto held = counter.hold(pairs);
    attend_to_listed(Q, K, V, keys_of_chunk, begin, counter, output.data() + begin * V.shape(1));
  }
  return output;
}

namespace {

/// One head of one sample of [batch×head×n×d]: [n×d].
Tensor<2> matrix(const Tensor<4>& heads, std::size_t sample, std::size_t head) {
  return attn::sample(attn::head(heads, head), sample);
}

}  // namespace

Tensor<3> grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter) {
  const auto batch = Q.shape(0), h = Q.shape(1), h_kv = K.shape(1), n_q = Q.shape(2);
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

Tensor<2> linformer_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const Tensor<2>& E,
                              const Tensor<2>& F, CostCounter& counter) {
  const auto projected_K = counter.matmul(E, K), projected_V = counter.matmul(F, V);
  const Tensor<2> scores =
      counter.matmul(Q, attn::transpose(projected_K)) / std::sqrt(static_cast<double>(Q.shape(1)));
  const auto held = counter.hold(scores.size());
  auto output = counter.matmul(attn::softmax(scores), projected_V);

  std::vector<CostCounter::Node> all_keys(K.shape(0));
  std::iota(all_keys.begin(), all_keys.end(), std::size_t{0});
  const auto mixing = counter.operation(all_keys);
  for (std::size_t i = 0; i < Q.shape(0); ++i) counter.output(counter.operation({mixing}), i);
  return output;
}

}  // namespace lessons

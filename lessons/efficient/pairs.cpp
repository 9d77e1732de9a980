/// Variants of attention that leave pairs of tokens out. What is left out is never computed.
/// Sources: local and sliding windows: Luong et al. 2015, section 3.2; Beltagy et al. 2020 (Longformer);
/// Jiang et al. 2023 (Mistral 7B). Sparse patterns: Child et al. 2019 (Sparse Transformer); Zaheer et al.
/// 2020 (Big Bird).

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/ops/softmax.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

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

Tensor<2> sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                           CostCounter& counter) {
  require_fitting("sparse_attention", Q, K, V);
  attn::require_listed("sparse_attention", keys, Q.shape(0), K.shape(0));
  const auto held = counter.hold(attn::pair_count(keys));
  Tensor<2> output({Q.shape(0), V.shape(1)});
  attend_to_listed(Q, K, V, keys, 0, counter, output.data());
  return output;
}

}  // namespace lessons

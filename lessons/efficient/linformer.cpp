/// Attention to a few mixtures of the keys.
/// Source: Wang et al. 2020.

#include <cmath>
#include <numeric>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

Tensor<2> linformer_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const Tensor<2>& E,
                              const Tensor<2>& F, CostCounter& counter) {
  require_fitting("linformer_attention", Q, K, V);
  if (E.shape(0) != F.shape(0))
    throw attn::shape_mismatch("linformer_attention", "E", E, "F", F, "the numbers of rows must match");
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

/// Attention with features of queries and keys in place of the exponential of a score, so that keys and
/// values are summed up before any query reads them. Sources: linear attention: Katharopoulos et al. 2020;
/// Performer: Choromanski et al. 2021.

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient.hpp"

namespace lessons {

namespace {

/// Each row divided by its own number; zeros where that is 0.
Tensor<2> divide_rows(Tensor<2> rows, const Tensor<1>& divisors) {
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    for (std::size_t c = 0; c < rows.shape(1); ++c)
      rows(i, c) = divisors(i) == 0.0 ? 0.0 : rows(i, c) / divisors(i);
  return rows;
}

/// Σᵢ xᵢ over the rows.
Tensor<1> sum_of_rows(const Tensor<2>& x) {
  Tensor<1> sum({x.shape(1)}, 0.0);
  for (std::size_t i = 0; i < x.shape(0); ++i) sum += attn::row(x, i);
  return sum;
}

}  // namespace

Tensor<2> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                           CostCounter& counter) {
  const auto S = counter.matmul(attn::transpose(phi_K), V);
  const auto z = sum_of_rows(phi_K);
  const auto held = counter.hold(S.size() + z.size());
  auto output = divide_rows(counter.matmul(phi_Q, S), counter.matmul(phi_Q, z));

  std::vector<CostCounter::Node> all_keys(phi_K.shape(0));
  std::iota(all_keys.begin(), all_keys.end(), std::size_t{0});
  const auto summing = counter.operation(all_keys);
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) counter.output(counter.operation({summing}), i);
  return output;
}

Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter) {
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  Tensor<2> S({features, d_v}, 0.0);
  Tensor<1> z({features}, 0.0);
  const auto held = counter.hold(S.size() + z.size());
  Tensor<2> output({phi_Q.shape(0), d_v});
  std::vector<CostCounter::Node> before;  // the operation that gave S and z, after the first token
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    const auto phi_q = attn::rows(phi_Q, i, i + 1), phi_k = attn::rows(phi_K, i, i + 1),
               v = attn::rows(V, i, i + 1);
    S += counter.matmul(attn::transpose(phi_k), v);
    z += attn::row(phi_k, 0);
    const auto read = divide_rows(counter.matmul(phi_q, S), counter.matmul(phi_q, z));
    std::copy(read.begin(), read.end(), &output(i, 0));

    before.push_back(i);
    const auto adding = counter.operation(before);
    counter.output(counter.operation({adding}), i);
    before = {adding};
  }
  return output;
}

}  // namespace lessons

#include "attn/ops/cost_counter.hpp"

#include <algorithm>

#include "attn/ops/matmul.hpp"

namespace attn {

Tensor<2> CostCounter::matmul(const Tensor<2>& a, const Tensor<2>& b) {
  auto product = attn::matmul(a, b);
  count(product.size() * b.shape(0));
  return product;
}

Tensor<1> CostCounter::matmul(const Tensor<2>& a, const Tensor<1>& x) {
  auto product = attn::matmul(a, x);
  count(a.size());
  return product;
}

Tensor<1> CostCounter::matmul(const Tensor<1>& x, const Tensor<2>& b) {
  auto product = attn::matmul(x, b);
  count(b.size());
  return product;
}

double CostCounter::scale(double factor, double x) {
  count(1);
  return factor * x;
}

Tensor<1> CostCounter::scale(double factor, const Tensor<1>& x) {
  count(x.size());
  return factor * x;
}

void CostCounter::change_held(std::int64_t bytes) {
  held_bytes_ += bytes;
  cost_.score_bytes = std::max(cost_.score_bytes, held_bytes_);
}

}  // namespace attn

#include "attn/ops/lstm.hpp"

#include <xtensor/xmath.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

void check_shapes(const LstmWeights& weights, const Tensor<3>& x, const Tensor<3>& h) {
  const auto& [W_ih, W_hh, b_ih, b_hh] = weights;
  if (W_ih.shape(1) != x.shape(2))
    throw shape_mismatch("gate_sums", "x", x, "W_ih", W_ih, "the last axes must match");
  if (h.shape(0) != x.shape(0) || h.shape(1) != x.shape(1))
    throw shape_mismatch("gate_sums", "x", x, "h", h, "all axes but the last must match");
  if (h.shape(2) != weights.hidden())
    throw shape_mismatch("gate_sums", "h", h, "W_hh", W_hh, "the last axes must match");
  if (W_hh.shape(0) != 4 * weights.hidden() || W_ih.shape(0) != W_hh.shape(0))
    throw shape_mismatch("gate_sums", "W_ih", W_ih, "W_hh", W_hh, "both have four rows for each unit");
  if (b_ih.size() != W_ih.shape(0) || b_hh.size() != W_hh.shape(0))
    throw shape_mismatch("gate_sums", "b_ih", b_ih, "b_hh", b_hh, "both have four numbers for each unit");
}

/// `sum` and the products of a row of W with x, in order.
double add_products(double sum, const Tensor<2>& W, std::size_t row, const double* x) {
  const std::size_t width = W.shape(1);
  const double* const weights = W.data() + row * width;
  for (std::size_t k = 0; k < width; ++k) sum += weights[k] * x[k];
  return sum;
}

}  // namespace

Tensor<3> gate_sums(const LstmWeights& weights, Gate gate, const Tensor<3>& x, const Tensor<3>& h) {
  check_shapes(weights, x, h);
  const auto& [W_ih, W_hh, b_ih, b_hh] = weights;
  const std::size_t hidden = weights.hidden(), d_in = x.shape(2);
  const std::size_t first_row = static_cast<std::size_t>(gate) * hidden;
  Tensor<3> sums(h.shape());
  for (std::size_t i = 0; i < x.shape(0) * x.shape(1); ++i)
    for (std::size_t unit = 0; unit < hidden; ++unit) {
      const std::size_t row = first_row + unit;
      double sum = add_products(0.0, W_ih, row, x.data() + i * d_in);
      sum = add_products(sum, W_hh, row, h.data() + i * hidden);
      sums.data()[i * hidden + unit] = sum + (b_ih(row) + b_hh(row));
    }
  return sums;
}

Tensor<3> sigmoid(const Tensor<3>& x) {
  return 1.0 / (1.0 + xt::exp(-x));
}

}  // namespace attn

#include "attn/ops/linear_backward.hpp"

#include <algorithm>

#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// The rows of all samples, one below the other: [batch×n×d] → [batch·n×d].
Tensor<2> rows_of_all(const Tensor<3>& x) {
  Tensor<2> rows({x.shape(0) * x.shape(1), x.shape(2)});
  std::copy(x.begin(), x.end(), rows.begin());
  return rows;
}

}  // namespace

Tensor<2> linear_backward_weight(const Tensor<3>& x, const Tensor<3>& d_y) {
  if (x.shape(0) != d_y.shape(0) || x.shape(1) != d_y.shape(1))
    throw shape_mismatch("linear_backward_weight", "x", x, "d_y", d_y, "the samples and rows must match");
  return attn::matmul(attn::transpose(rows_of_all(x)), rows_of_all(d_y));
}

Tensor<3> linear_backward_input(const Tensor<3>& d_y, const Tensor<2>& weight) {
  return attn::linear(d_y, attn::transpose(weight));
}

Tensor<1> linear_backward_bias(const Tensor<3>& d_y) {
  Tensor<1> sums = xt::zeros<double>({d_y.shape(2)});
  for (std::size_t i = 0; i < d_y.size(); ++i) sums(i % sums.size()) += d_y.data()[i];
  return sums;
}

WorkedOut worked_linear_backward_bias(Known<3> d_y) {
  return [=](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t b = 0; b < d_y.tensor.shape(0); ++b)
      for (std::size_t i = 0; i < d_y.tensor.shape(1); ++i) terms.push_back(d_y({b, i, at[0]}));
    return Worked::sum(std::move(terms));
  };
}

WorkedOut worked_linear_backward_weight(Known<3> x, Known<3> d_y) {
  return [=](const Index& at) {
    std::vector<Worked> products;
    for (std::size_t b = 0; b < x.tensor.shape(0); ++b)
      for (std::size_t i = 0; i < x.tensor.shape(1); ++i)
        products.push_back(Worked::product({x({b, i, at[0]}), d_y({b, i, at[1]})}));
    return Worked::sum(std::move(products));
  };
}

WorkedOut worked_linear_backward_input(std::vector<std::pair<Known<3>, Known<2>>> products) {
  return [products = std::move(products)](const Index& at) {
    std::vector<Worked> terms;
    for (const auto& [d_y, weight] : products)
      for (std::size_t k = 0; k < weight.tensor.shape(1); ++k)
        terms.push_back(Worked::product({d_y({at[0], at[1], k}), weight({at[2], k})}));
    return Worked::sum(std::move(terms));
  };
}

}  // namespace attn

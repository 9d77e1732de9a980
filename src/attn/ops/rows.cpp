#include "attn/ops/rows.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// of(begin, end) for each row.
template <class Function>
Tensor<1> of_each_row(const Tensor<2>& x, Function of) {
  auto result = Tensor<1>::from_shape({x.shape(0)});
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    const double* row = x.data() + i * x.shape(1);
    result(i) = of(row, row + x.shape(1));
  }
  return result;
}

template <class Function>
Tensor<2> with_number_of_row(const char* op, const Tensor<2>& x, const Tensor<1>& of_row, Function f) {
  if (x.shape(0) != of_row.size())
    throw shape_mismatch(op, "x", x, "of_row", of_row, "there must be a number for each row");
  Tensor<2> result(x.shape());
  for (std::size_t i = 0; i < x.shape(0); ++i)
    for (std::size_t j = 0; j < x.shape(1); ++j) result(i, j) = f(x(i, j), of_row(i));
  return result;
}

}  // namespace

Tensor<1> row_max(const Tensor<2>& x) {
  return of_each_row(x, [](auto begin, auto end) { return *std::max_element(begin, end); });
}

Tensor<1> row_sums(const Tensor<2>& x) {
  return of_each_row(x, [](auto begin, auto end) { return std::accumulate(begin, end, 0.0); });
}

Tensor<2> subtract_from_rows(const Tensor<2>& x, const Tensor<1>& of_row) {
  return with_number_of_row("subtract_from_rows", x, of_row, std::minus());
}

Tensor<2> divide_rows(const Tensor<2>& x, const Tensor<1>& of_row) {
  return with_number_of_row("divide_rows", x, of_row, std::divides());
}

WorkedOut worked_row_max(Known<2> x) {
  return [=](const Index& at) {
    std::vector<Worked> row;
    for (std::size_t j = 0; j < x.tensor.shape(1); ++j) row.push_back(x({at[0], j}));
    return largest(std::move(row));
  };
}

WorkedOut worked_row_sums(Known<2> x) {
  return [=](const Index& at) {
    std::vector<Worked> row;
    for (std::size_t j = 0; j < x.tensor.shape(1); ++j) row.push_back(x({at[0], j}));
    return Worked::sum(std::move(row));
  };
}

WorkedOut worked_subtract_from_rows(Known<2> x, Known<1> y) {
  return [=](const Index& at) { return x(at) - y({at[0]}); };
}

WorkedOut worked_divide_rows(Known<2> x, Known<1> y) {
  return [=](const Index& at) { return x(at) / y({at[0]}); };
}

}  // namespace attn

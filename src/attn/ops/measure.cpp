#include "attn/ops/measure.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

std::size_t argmax(const double* numbers, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(numbers, numbers + count) - numbers);
}

namespace {

double sum_of(std::span<const double> row) {
  return std::accumulate(row.begin(), row.end(), 0.0);
}

double entropy_of(std::span<const double> row) {
  double entropy = 0.0;
  for (const double element : row) {
    const auto weight = static_cast<double>(element);
    if (weight != 0.0) entropy -= weight * std::log(weight);
  }
  return entropy;
}

double max_of(std::span<const double> row) {
  auto largest = static_cast<double>(row.front());
  for (const double weight : row) largest = maximum({largest, static_cast<double>(weight)});
  return largest;
}

/// Element by element: the closed form Σ w² − 2 Σ w³ + (Σ w²)² cancels when one weight is close to 1.
double jacobian_norm_of(std::span<const double> row) {
  double sum_of_squares = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto w_i = static_cast<double>(row[i]);
    const double diagonal = w_i * (1.0 - w_i);
    sum_of_squares += diagonal * diagonal;
    for (std::size_t j = 0; j < i; ++j) {
      const double product = w_i * static_cast<double>(row[j]);
      sum_of_squares += 2.0 * product * product;
    }
  }
  return std::sqrt(sum_of_squares);
}

/// Calls `visit` with each row along the last axis.
template <std::size_t N, class Visit>
void for_each_row(const Tensor<N>& x, Visit visit) {
  const std::size_t length = x.shape().back();
  for (std::size_t begin = 0; begin < x.size(); begin += length) visit(std::span(x.data() + begin, length));
}

/// The mean of what `measure` says of each row; 0 for a tensor without rows.
template <std::size_t N, class Measure>
double mean_over_rows(const Tensor<N>& x, Measure measure) {
  double sum = 0.0, count = 0.0;
  for_each_row(x, [&](std::span<const double> row) {
    sum += measure(row);
    count += 1.0;
  });
  return count == 0.0 ? 0.0 : sum / count;
}

}  // namespace

double maximum(std::initializer_list<double> measurements) {
  double largest = *measurements.begin();
  for (const double measurement : measurements)
    if (std::isnan(measurement) || measurement > largest) largest = measurement;
  return largest;
}

template <std::size_t N>
double max_abs(const Tensor<N>& x) {
  double largest = 0.0;
  for (const double element : x) largest = maximum({largest, std::abs(static_cast<double>(element))});
  return largest;
}

template <std::size_t N>
double max_abs_difference(const Tensor<N>& x, const Tensor<N>& y) {
  if (x.shape() != y.shape())
    throw shape_mismatch("max_abs_difference", "x", x, "y", y, "the shapes must be equal");
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = static_cast<double>(x.data()[i]), b = static_cast<double>(y.data()[i]);
    largest = maximum({largest, a == b ? 0.0 : std::abs(a - b)});
  }
  return largest;
}

template <std::size_t N>
double sum_of_products(const Tensor<N>& x, const Tensor<N>& y) {
  if (x.shape() != y.shape())
    throw shape_mismatch("sum_of_products", "x", x, "y", y, "the shapes must be equal");
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += static_cast<double>(x.data()[i]) * static_cast<double>(y.data()[i]);
  return sum;
}

template <std::size_t N>
double row_sum_deviation(const Tensor<N>& weights) {
  double largest = 0.0;
  for_each_row(weights, [&](std::span<const double> row) {
    const bool is_zero =
        std::all_of(row.begin(), row.end(), [](double weight) { return weight == double{0}; });
    if (!is_zero) largest = maximum({largest, std::abs(sum_of(row) - 1.0)});
  });
  return largest;
}

double row_sum_deviation(const Tensor<3>& weights, const Mask<3>& mask) {
  if (weights.shape() != mask.shape())
    throw shape_mismatch("row_sum_deviation", "weights", weights, "mask", mask, "the shapes must be equal");
  double largest = 0.0;
  const bool* visible = mask.data();
  for_each_row(weights, [&](std::span<const double> row) {
    const bool sees_a_key = std::any_of(visible, visible + row.size(), std::identity());
    if (sees_a_key) largest = maximum({largest, std::abs(sum_of(row) - 1.0)});
    visible += row.size();
  });
  return largest;
}

double largest_hidden_weight(const Tensor<3>& weights, const Mask<3>& mask) {
  if (weights.shape() != mask.shape())
    throw shape_mismatch("largest_hidden_weight", "weights", weights, "mask", mask,
                         "the shapes must be equal");
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!mask.data()[i]) largest = maximum({largest, std::abs(static_cast<double>(weights.data()[i]))});
  return largest;
}

template <std::size_t N>
double max_abs_row_sum(const Tensor<N>& x) {
  double largest = 0.0;
  for_each_row(x, [&](std::span<const double> row) { largest = maximum({largest, std::abs(sum_of(row))}); });
  return largest;
}

template <std::size_t N>
double mean_entropy(const Tensor<N>& weights) {
  return mean_over_rows(weights, entropy_of);
}

template <std::size_t N>
double mean_max_weight(const Tensor<N>& weights) {
  return mean_over_rows(weights, max_of);
}

template <std::size_t N>
double mean_jacobian_norm(const Tensor<N>& weights) {
  return mean_over_rows(weights, jacobian_norm_of);
}

template double max_abs(const Tensor<1>&);
template double max_abs_difference(const Tensor<1>&, const Tensor<1>&);
template double sum_of_products(const Tensor<1>&, const Tensor<1>&);
template double row_sum_deviation(const Tensor<1>&);
template double max_abs_row_sum(const Tensor<1>&);
template double mean_entropy(const Tensor<1>&);
template double mean_max_weight(const Tensor<1>&);
template double mean_jacobian_norm(const Tensor<1>&);
template double max_abs(const Tensor<2>&);
template double max_abs_difference(const Tensor<2>&, const Tensor<2>&);
template double sum_of_products(const Tensor<2>&, const Tensor<2>&);
template double row_sum_deviation(const Tensor<2>&);
template double max_abs_row_sum(const Tensor<2>&);
template double mean_entropy(const Tensor<2>&);
template double mean_max_weight(const Tensor<2>&);
template double mean_jacobian_norm(const Tensor<2>&);
template double max_abs(const Tensor<3>&);
template double max_abs_difference(const Tensor<3>&, const Tensor<3>&);
template double sum_of_products(const Tensor<3>&, const Tensor<3>&);
template double row_sum_deviation(const Tensor<3>&);
template double max_abs_row_sum(const Tensor<3>&);
template double mean_entropy(const Tensor<3>&);
template double mean_max_weight(const Tensor<3>&);
template double mean_jacobian_norm(const Tensor<3>&);
template double max_abs(const Tensor<4>&);
template double max_abs_difference(const Tensor<4>&, const Tensor<4>&);
template double sum_of_products(const Tensor<4>&, const Tensor<4>&);
template double row_sum_deviation(const Tensor<4>&);
template double max_abs_row_sum(const Tensor<4>&);
template double mean_entropy(const Tensor<4>&);
template double mean_max_weight(const Tensor<4>&);
template double mean_jacobian_norm(const Tensor<4>&);

Worked worked_entropy(const std::vector<Worked>& weights) {
  std::vector<Worked> terms;
  for (const auto& w : weights)
    if (w.value() != 0.0) terms.push_back(Worked::product({w, log(w)}));
  return terms.empty() ? Worked(0.0) : -Worked::sum(std::move(terms));
}

Worked worked_jacobian_norm(const std::vector<Worked>& weights) {
  std::vector<Worked> squares;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& w = weights[i];
    squares.push_back(square(Worked::product({w, Worked(1.0) - w})));
    for (std::size_t j = 0; j < i; ++j)
      squares.push_back(Worked::product({2.0, square(Worked::product({w, weights[j]}))}));
  }
  return sqrt(Worked::sum(std::move(squares)));
}

}  // namespace attn

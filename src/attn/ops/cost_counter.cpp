#include "attn/ops/cost_counter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <xtensor/xmath.hpp>

#include "attn/ops/slice.hpp"

namespace attn {

// Several rows at a time: each product is summed in order, and none waits for another.
void CostCounter::multiply_rows(const double* x, const Tensor<2>& matrix, std::span<const std::size_t> rows,
                                double* products) {
  constexpr std::size_t at_once = 4;
  const auto width = matrix.shape(1);
  const auto row = [&](std::size_t i) { return matrix.data() + rows[i] * width; };
  std::size_t i = 0;
  for (; i + at_once <= rows.size(); i += at_once) {
    const std::array<const double*, at_once> some = {row(i), row(i + 1), row(i + 2), row(i + 3)};
    std::array<double, at_once> sums{};
    for (std::size_t k = 0; k < width; ++k)
      for (std::size_t j = 0; j < at_once; ++j) sums[j] += x[k] * some[j][k];
    std::copy(sums.begin(), sums.end(), products + i);
  }
  for (; i < rows.size(); ++i) products[i] = std::inner_product(x, x + width, row(i), 0.0);
  count(rows.size() * width);
}

void CostCounter::add_product(double factor, std::span<const double> x, double* sum) {
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] += factor * x[i];
  count(x.size());
}

double CostCounter::scale(double factor, double x) {
  count(1);
  return factor * x;
}

void CostCounter::scale(double factor, std::span<double> x) {
  count(x.size());
  for (double& one : x) one *= factor;
}

void CostCounter::change_held(std::int64_t bytes) {
  held_bytes_ += bytes;
  cost_.score_bytes = std::max(cost_.score_bytes, held_bytes_);
}

DependencyGraph::DependencyGraph(std::size_t tokens) : readers_(tokens), depths_(tokens), outputs_(tokens) {}

DependencyGraph::Node DependencyGraph::add_operation(const std::vector<Node>& inputs) {
  const Node operation = readers_.size();
  std::int64_t depth = 1;
  for (const Node input : inputs) {
    readers_.at(input).push_back(operation);
    depth = std::max(depth, depths_[input] + 1);
  }
  readers_.emplace_back();
  depths_.push_back(depth);
  outputs_.emplace_back();
  return operation;
}

void DependencyGraph::set_output(Node operation, std::size_t token) {
  outputs_.at(operation).push_back(token);
}

std::int64_t DependencyGraph::sequential_steps() const {
  return depths_.empty() ? 0 : *std::max_element(depths_.begin(), depths_.end());
}

/// Breadth first: to enter an operation is one step; from an output to the next layer's input is none.
std::optional<std::int64_t> DependencyGraph::path_length(std::size_t from, std::size_t to) const {
  constexpr auto unreached = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> steps(readers_.size(), unreached);
  std::deque<Node> frontier = {from};
  steps[from] = 0;
  while (!frontier.empty()) {
    const Node node = frontier.front();
    frontier.pop_front();
    for (const std::size_t token : outputs_[node]) {
      if (token == to) return steps[node];
      if (steps[node] >= steps[token]) continue;
      steps[token] = steps[node];
      frontier.push_front(token);
    }
    for (const Node reader : readers_[node]) {
      if (steps[node] + 1 >= steps[reader]) continue;
      steps[reader] = steps[node] + 1;
      frontier.push_back(reader);
    }
  }
  return std::nullopt;
}

Tensor<2> elu_plus_one(const Tensor<2>& x) {
  return xt::where(x > 0.0, x + 1.0, xt::exp(x));
}

Tensor<2> positive_random_features(const Tensor<2>& x, const Tensor<2>& omega, CostCounter& counter) {
  if (x.shape(1) != omega.shape(1))
    throw shape_mismatch("positive_random_features", "x", x, "omega", omega, "the last axes must match");
  const double root_of_count = std::sqrt(static_cast<double>(omega.shape(0)));
  const Tensor<2> y = x / std::pow(static_cast<double>(x.shape(1)), 0.25);
  auto features = counter.matmul(y, transpose(omega));
  for (std::size_t i = 0; i < y.shape(0); ++i) {
    const auto y_i = rows(y, i, i + 1);
    const double half_square = counter.matmul(y_i, transpose(y_i))(0, 0) / 2.0;
    for (std::size_t m = 0; m < omega.shape(0); ++m)
      features(i, m) = std::exp(features(i, m) - half_square) / root_of_count;
  }
  return features;
}

}  // namespace attn

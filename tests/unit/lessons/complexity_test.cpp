#include <catch2/catch.hpp>
#include <stdexcept>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::CostCounter;
using attn::Tensor;

namespace {

/// The recurrence with the products of the library.
Tensor<2> plain_recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h) {
  Tensor<2> states({X.shape(0), W_h.shape(0)}), state({1, W_h.shape(0)}, double{0});
  for (std::size_t t = 0; t < X.shape(0); ++t) {
    state = xt::tanh(attn::linear(attn::rows(X, t, t + 1), W_x) + attn::linear(state, W_h));
    std::copy(state.begin(), state.end(), &states(t, 0));
  }
  return states;
}

/// The convolution as one product for each place in the window, of X moved by that place.
Tensor<2> plain_convolution(const Tensor<2>& X, const Tensor<3>& W) {
  const std::size_t n = X.shape(0), side = W.shape(0) / 2;
  Tensor<2> output({n, W.shape(2)}, double{0});
  for (std::size_t o = 0; o < W.shape(0); ++o) {
    Tensor<2> moved({n, X.shape(1)}, double{0});
    for (std::size_t i = 0; i < n; ++i)
      if (i + o >= side && i + o < n + side) std::copy_n(&X(i + o - side, 0), X.shape(1), &moved(i, 0));
    output += attn::linear(moved, attn::sample(W, o));
  }
  return output;
}

}  // namespace

TEST_CASE("the recurrent layer is its formula, step by step", "[complexity]") {
  const std::size_t n = GENERATE(1, 6), d_in = GENERATE(1, 3), d = GENERATE(1, 4);
  const auto X = random_tensor<2>({n, d_in}, 1), W_x = random_tensor<2>({d_in, d}, 2),
             W_h = random_tensor<2>({d, d}, 3);
  attn::DependencyGraph graph(n);
  CostCounter counter(attn::Dtype::float64, &graph);
  const auto states = lessons::recurrence(X, W_x, W_h, counter);
  CHECK(attn::max_abs_difference(states, plain_recurrence(X, W_x, W_h)) <= rounding);
  CHECK(counter.cost().multiply_adds == static_cast<std::int64_t>(n * (d_in * d + d * d)));
  CHECK(counter.cost().score_bytes == static_cast<std::int64_t>(d * sizeof(double)));
  CHECK(graph.sequential_steps() == static_cast<std::int64_t>(n));
  CHECK(graph.path_length(0, n - 1) == static_cast<std::int64_t>(n));
}

TEST_CASE("the convolution is its formula, with nothing beyond the ends", "[complexity]") {
  const std::size_t n = GENERATE(1, 2, 7), width = GENERATE(1, 3, 5), d_in = GENERATE(1, 3);
  const auto X = random_tensor<2>({n, d_in}, 1);
  const auto W = random_tensor<3>({width, d_in, 2}, 2);
  CostCounter counter;
  CHECK(attn::max_abs_difference(lessons::convolution(X, W, counter), plain_convolution(X, W)) <= rounding);
}

TEST_CASE("a convolution takes as many layers as its window is narrow", "[complexity]") {
  const auto X = random_tensor<2>({7, 2}, 1);
  attn::DependencyGraph graph(7);
  CostCounter counter(attn::Dtype::float64, &graph);
  lessons::convolution(X, random_tensor<3>({5, 2, 2}, 2), counter);
  CHECK(counter.cost().multiply_adds == (3 + 4 + 5 + 5 + 5 + 4 + 3) * 4);
  CHECK(counter.cost().score_bytes == 0);
  CHECK(graph.sequential_steps() == 1);
  CHECK(graph.path_length(0, 6) == 3);
}

#include "attn/ops/lstm.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Gate;
using attn::Tensor;
using Catch::Contains;

TEST_CASE("the rows of the gates are i, f, g and o in that order", "[lstm]") {
  const attn::LstmWeights weights = {.W_ih = {{1.0}, {2.0}, {3.0}, {4.0}},
                                     .W_hh = {{0.1}, {0.2}, {0.3}, {0.4}},
                                     .b_ih = {0.01, 0.02, 0.03, 0.04},
                                     .b_hh = {0.5, 0.6, 0.7, 0.8}};
  const auto sum = [&](Gate gate) { return attn::gate_sums(weights, gate, {{{0.5}}}, {{{-1.0}}})(0, 0, 0); };
  CHECK(sum(Gate::input) == Approx(0.5 - 0.1 + 0.51).epsilon(1e-14));
  CHECK(sum(Gate::forget) == Approx(1.0 - 0.2 + 0.62).epsilon(1e-14));
  CHECK(sum(Gate::candidate) == Approx(1.5 - 0.3 + 0.73).epsilon(1e-14));
  CHECK(sum(Gate::output) == Approx(2.0 - 0.4 + 0.84).epsilon(1e-14));
}

TEST_CASE("the sums of a gate refuse what does not fit with both shapes", "[lstm]") {
  const attn::LstmWeights weights = {random_tensor<2>({8, 3}, 1), random_tensor<2>({8, 2}, 2),
                                     random_tensor<1>({8}, 3), random_tensor<1>({8}, 4)};
  const auto x = random_tensor<3>({1, 1, 3}, 5), h = random_tensor<3>({1, 1, 2}, 6);
  const auto sums = [&](const attn::LstmWeights& with, const Tensor<3>& input, const Tensor<3>& before) {
    return attn::gate_sums(with, Gate::input, input, before);
  };
  CHECK_NOTHROW(sums(weights, x, h));
  CHECK_THROWS_WITH(sums(weights, random_tensor<3>({1, 1, 4}, 1), h),
                    Contains("[gate_sums]") && Contains("1×1×4") && Contains("8×3"));
  CHECK_THROWS_WITH(sums(weights, random_tensor<3>({2, 1, 3}, 1), h), Contains("2×1×3") && Contains("1×1×2"));
  CHECK_THROWS_AS(sums(weights, x, random_tensor<3>({1, 1, 3}, 1)), std::invalid_argument);
  auto biases_missing = weights;
  biases_missing.b_hh = {0.0};
  CHECK_THROWS_AS(sums(biases_missing, x, h), std::invalid_argument);
}

TEST_CASE("a cell goes back as central differences say", "[lstm]") {
  const auto sums = random_tensor<3>({2, 1, 12}, 1), d_h = random_tensor<3>({2, 1, 3}, 2),
             before = random_tensor<3>({2, 1, 3}, 3);
  const auto part = [](const Tensor<3>& x, std::size_t gate) {
    Tensor<3> rows({2, 1, 3});
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t k = 0; k < 3; ++k) rows(b, 0, k) = x(b, 0, 3 * gate + k);
    return rows;
  };
  const auto sigma = [&](const Tensor<3>& x, std::size_t gate) { return attn::sigmoid(part(x, gate)); };
  const auto memory = [&](const Tensor<3>& x) {
    return attn::add(attn::multiply(sigma(x, 1), before),
                     attn::multiply(sigma(x, 0), attn::tanh(part(x, 2))));
  };
  const auto loss = [&](const Tensor<3>& x) {
    return attn::sum_of_products(attn::multiply(sigma(x, 3), attn::tanh(memory(x))), d_h);
  };
  const auto i = sigma(sums, 0), f = sigma(sums, 1), g = attn::tanh(part(sums, 2)), o = sigma(sums, 3),
             c = memory(sums);
  const auto d_c = attn::lstm_backward_memory(d_h, o, c);
  const auto d_i = attn::multiply(d_c, g), d_f = attn::multiply(d_c, before), d_g = attn::multiply(d_c, i),
             d_o = attn::multiply(d_h, attn::tanh(c));
  const auto d_sums = attn::gate_sums_backward({i, f, g, o}, {d_i, d_f, d_g, d_o});
  REQUIRE(d_sums.shape() == sums.shape());
  constexpr double h = 1e-5;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    auto up = sums, down = sums;
    up.data()[k] += h;
    down.data()[k] -= h;
    CHECK(d_sums.data()[k] == Approx((loss(up) - loss(down)) / (2.0 * h)).margin(1e-9));
  }
}

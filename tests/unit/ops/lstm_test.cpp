#include "attn/ops/lstm.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

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

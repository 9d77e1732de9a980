#include "attn/ops/arithmetic.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("elementwise functions act on every element", "[arithmetic]") {
  const Tensor<2> x = {{1, 2}, {3, -4}}, y = {{10, 20}, {30, 40}};
  CHECK((attn::add(x, y) == Tensor<2>{{11, 22}, {33, 36}}));
  CHECK((attn::divide(x, 2.0) == Tensor<2>{{0.5, 1}, {1.5, -2}}));
  const auto hyperbolic = attn::tanh(x);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(hyperbolic.data()[i] == std::tanh(x.data()[i]));
}

TEST_CASE("numbers are divided, not multiplied by a rounded inverse", "[arithmetic]") {
  const auto x = random_tensor<4>({2, 3, 4, 5}, 1);
  const auto quotient = attn::divide(x, 3.0);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(quotient.data()[i] == x.data()[i] / 3.0);
}

TEST_CASE("rounding to float32 is that of a cast", "[arithmetic]") {
  for (const double x : {0.1, 1.0 / 3.0, -1e-50, -3.0})
    CHECK(attn::round_to(attn::Dtype::float32, x) == double{static_cast<float>(x)});
}

TEST_CASE("tensors of two shapes are not added", "[arithmetic]") {
  const auto x = random_tensor<2>({2, 3}, 1), y = random_tensor<2>({3, 2}, 1);
  CHECK_THROWS_AS(attn::add(x, y), std::invalid_argument);
  CHECK_THROWS_WITH(attn::add(x, y), Contains("[add]") && Contains("2×3") && Contains("3×2"));
}

TEST_CASE("absolute values, products and σ are taken element by element", "[arithmetic]") {
  const Tensor<3> x = {{{-2.0, 0.0, 3.0}}}, y = {{{5.0, -1.0, -2.0}}};
  CHECK((attn::absolute(x) == Tensor<3>{{{2.0, 0.0, 3.0}}}));
  CHECK((attn::multiply(x, y) == Tensor<3>{{{-10.0, -0.0, -6.0}}}));
  CHECK_THROWS_AS(attn::multiply(x, Tensor<3>{{{1.0}}}), std::invalid_argument);
  const auto share = attn::sigmoid({{{0.0, 1.0, -1e6}}});
  CHECK(share(0, 0, 0) == 0.5);
  CHECK(share(0, 0, 1) == Approx(1.0 / (1.0 + std::exp(-1.0))).epsilon(1e-15));
  CHECK(share(0, 0, 2) == 0.0);
}

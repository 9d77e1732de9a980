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
  CHECK((attn::divide(x, 2.0) == Tensor<2>{{double(0.5), 1}, {double(1.5), -2}}));
  CHECK((attn::shift(x, 10.0) == Tensor<2>{{11, 12}, {13, 6}}));
  const auto hyperbolic = attn::tanh(x);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(hyperbolic.data()[i] == static_cast<double>(std::tanh(static_cast<double>(x.data()[i]))));
}

TEST_CASE("numbers are divided, not multiplied by a rounded inverse", "[arithmetic]") {
  const auto x = random_tensor<4>({2, 3, 4, 5}, 1);
  const auto quotient = attn::divide(x, 3.0);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(quotient.data()[i] == x.data()[i] / 3.0);
}

TEST_CASE("a cast rounds each element once", "[arithmetic]") {
  const Tensor<1> x = {0.1, 1.0 / 3.0, -1e-50};
  CHECK((attn::cast<float>(x) == Tensor<float, 1>{0.1F, 1.0F / 3.0F, -0.0F}));
  CHECK((attn::cast<double>(x) == x));
}

TEST_CASE("a float is the same number in float64", "[arithmetic]") {
  CHECK((Tensor<float, 1>{0.1F, -3.0F} == Tensor<1>{double{0.1F}, -3.0}));
}

TEST_CASE("tensors of two shapes are not added", "[arithmetic]") {
  const auto x = random_tensor<2>({2, 3}, 1), y = random_tensor<2>({3, 2}, 1);
  CHECK_THROWS_AS(attn::add(x, y), std::invalid_argument);
  CHECK_THROWS_WITH(attn::add(x, y), Contains("[add]") && Contains("2×3") && Contains("3×2"));
}

#include "attn/ops/activation.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "tests/unit/central_difference.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Activation;
using attn::Tensor;

TEST_CASE("ReLU keeps what is positive and cuts off the rest", "[activation]") {
  const Tensor<3> x = {{{-2, -0.5, 0, 0.5, 2}}};
  CHECK((attn::relu(x) == Tensor<3>{{{0, 0, 0, 0.5, 2}}}));
}

TEST_CASE("GELU is x times the normal distribution function", "[activation]") {
  const auto gelu = attn::gelu(Tensor<3>{{{-3, -1, -0.5, 0, 0.5, 1, 3}}});
  const Tensor<3> expected = {{{-0.00404969409489031, -0.158655253931457, -0.154268769362993, 0,
                                0.345731230637007, 0.841344746068543, 2.99595030590511}}};
  CHECK(attn::max_abs_difference(gelu, expected) <= 1e-14);
}

TEST_CASE("GELU is not the formula with tanh", "[activation]") {
  const double x = 2.6, cubic = x + 0.044715 * x * x * x;
  const double approximation = x / 2.0 * (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * cubic));
  CHECK(std::abs(attn::gelu(Tensor<3>{{{x}}})(0, 0, 0) - approximation) > 4e-4);
}

TEST_CASE("far from 0 GELU is ReLU, and its tail keeps its digits", "[activation]") {
  const auto gelu = attn::gelu(Tensor<3>{{{-1e6, -10, 40, 1e6}}});
  CHECK(gelu(0, 0, 0) == 0.0);
  CHECK(gelu(0, 0, 1) == Approx(-7.61985302416053e-23));
  CHECK(gelu(0, 0, 2) == 40.0);
  CHECK(gelu(0, 0, 3) == 1e6);
}

TEST_CASE("GELU(x) − GELU(−x) is x, as for ReLU", "[activation]") {
  const auto x = random_tensor<3>({2, 5, 7}, 1);
  const Tensor<3> opposite = -x;
  for (const auto activation : {Activation::relu, Activation::gelu}) {
    const Tensor<3> difference = attn::activate(activation, x) - attn::activate(activation, opposite);
    CHECK(attn::max_abs_difference(difference, x) <= 1e-15);
  }
}

TEST_CASE("activations go back as central differences say", "[activation]") {
  const auto activation = GENERATE(Activation::relu, Activation::gelu);
  const auto x = random_tensor<3>({2, 3, 5}, 1), d_y = random_tensor<3>({2, 3, 5}, 2);
  const auto d_x = attn::activate_backward(activation, x, d_y);
  const auto f = [&](const Tensor<3>& moved) { return attn::activate(activation, moved); };
  CHECK(attn::deviation_entry_by_entry<3>({f, x, d_y, d_x, 1e-5}) <= 1e-8);
  const auto worked =
      attn::worked_activation_backward(activation, attn::Known<3>{"x", x}, attn::Known<3>{"d_y", d_y});
  for (std::size_t c = 0; c < 5; ++c) CHECK(worked({1, 2, c}).value() == Approx(d_x(1, 2, c)));
  CHECK_THROWS_AS(attn::activate_backward(activation, x, random_tensor<3>({2, 3, 4}, 1)),
                  std::invalid_argument);
}

TEST_CASE("ReLU passes nothing back at its corner and below", "[activation]") {
  const Tensor<3> x = {{{-1, 0, 2}}}, d_y = {{{3, 4, 5}}};
  CHECK((attn::activate_backward(Activation::relu, x, d_y) == Tensor<3>{{{0, 0, 5}}}));
}

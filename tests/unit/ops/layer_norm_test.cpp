#include "attn/ops/layer_norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "tests/unit/central_difference.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("layer normalisation agrees with PyTorch", "[layer_norm]") {
  for (const auto& one : fixture::cases("layer_norm")) {
    const auto normalized = attn::layer_norm(fixture::tensor<3>(one["x"]), fixture::tensor<1>(one["gain"]),
                                             fixture::tensor<1>(one["bias"]));
    CHECK(fixture::relative_error(normalized, one["normalized"]) <= fixture::tolerance<double>);
  }
}

TEST_CASE("a normalised row has mean 0 and variance just below 1", "[layer_norm]") {
  const Tensor<1> gain = xt::ones<double>({16}), bias = xt::zeros<double>({16});
  const auto normalized = attn::layer_norm(random_tensor<3>({2, 3, 16}, 1), gain, bias);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0.0, sum_of_squares = 0.0;
      for (std::size_t c = 0; c < 16; ++c) {
        sum += normalized(b, i, c);
        sum_of_squares += normalized(b, i, c) * normalized(b, i, c);
      }
      CHECK(std::abs(sum / 16) < 1e-14);
      CHECK(sum_of_squares / 16 < 1.0);
      CHECK(sum_of_squares / 16 > 0.9999);
    }
}

TEST_CASE("a constant row is normalised to the bias", "[layer_norm]") {
  const Tensor<3> x = {{{7, 7, 7}}};
  CHECK((attn::layer_norm(x, {2.0, 2.0, 2.0}, {1.0, 2.0, 3.0}) == Tensor<3>{{{1, 2, 3}}}));
}

TEST_CASE("a gain or bias of another length is refused with both shapes", "[layer_norm]") {
  const auto x = random_tensor<3>({2, 3, 4}, 1);
  const Tensor<1> right = xt::ones<double>({4}), wrong = xt::ones<double>({5});
  CHECK_THROWS_AS(attn::layer_norm(x, wrong, right), std::invalid_argument);
  CHECK_THROWS_WITH(attn::layer_norm(x, wrong, right),
                    Contains("[layer_norm]") && Contains("2×3×4") && Contains("gain is 5"));
  CHECK_THROWS_WITH(attn::layer_norm(x, right, wrong), Contains("2×3×4") && Contains("bias is 5"));
}

TEST_CASE("standardised rows are what layer norm gives before gain and bias", "[layer_norm]") {
  const auto x = random_tensor<3>({2, 3, 5}, 1);
  const Tensor<1> gain = {2, -1, 0.5, 0, 4}, bias = {1, 2, 3, 4, 5};
  const Tensor<3> expected = attn::standardize(x) * gain + bias;
  CHECK(attn::max_abs_difference(attn::layer_norm(x, gain, bias), expected) <= 1e-6);
}

TEST_CASE("layer normalisation goes back as central differences say", "[layer_norm]") {
  const auto x = random_tensor<3>({2, 3, 5}, 1), d_y = random_tensor<3>({2, 3, 5}, 2);
  const auto gain = random_tensor<1>({5}, 3), bias = random_tensor<1>({5}, 4);
  const auto [d_x, d_gain, d_bias] = attn::layer_norm_backward(x, gain, d_y);
  const auto of_x = [&](const Tensor<3>& moved) { return attn::layer_norm(moved, gain, bias); };
  CHECK(attn::deviation_entry_by_entry<3>({of_x, x, d_y, d_x, 1e-5}) <= 1e-8);
  for (std::size_t c = 0; c < 5; ++c) {
    auto up = gain, down = gain;
    up(c) += 0.5;
    down(c) -= 0.5;
    CHECK(d_gain(c) == Approx(attn::sum_of_products(attn::layer_norm(x, up, bias), d_y) -
                              attn::sum_of_products(attn::layer_norm(x, down, bias), d_y)));
    double sum = 0.0;
    for (std::size_t i = 0; i < 6; ++i) sum += d_y.data()[5 * i + c];
    CHECK(d_bias(c) == Approx(sum));
  }
  CHECK_THROWS_WITH(attn::layer_norm_backward(x, gain, random_tensor<3>({2, 3, 4}, 1)),
                    Contains("2×3×5") && Contains("2×3×4"));
  CHECK_THROWS_AS(attn::layer_norm_backward(x, random_tensor<1>({4}, 1), d_y), std::invalid_argument);
}

TEST_CASE("the way back through layer normalisation is worked out entry by entry", "[layer_norm]") {
  const auto x = random_tensor<3>({1, 2, 3}, 1), d_y = random_tensor<3>({1, 2, 3}, 2);
  const auto gain = random_tensor<1>({3}, 3);
  const auto gradients = attn::layer_norm_backward(x, gain, d_y);
  const auto worked_x = attn::worked_layer_norm_backward_x({"x", x}, {"gain", gain}, {"d_y", d_y});
  const auto worked_gain = attn::worked_layer_norm_backward_gain({"x", x}, {"d_y", d_y});
  CHECK(worked_x({0, 1, 2}).value() == Approx(gradients.d_x(0, 1, 2)));
  CHECK(worked_gain({1}).value() == Approx(gradients.d_gain(1)));
}

#include "attn/train/initialisation.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/unit/random_tensor.hpp"

using attn::Between;
using attn::Tensor;
using Catch::Contains;

namespace {

/// [layer×d×d] of unit matrices.
Tensor<3> unit_layers(std::size_t layers, std::size_t d) {
  Tensor<3> Z = xt::zeros<double>({layers, d, d});
  for (std::size_t l = 0; l < layers; ++l)
    for (std::size_t i = 0; i < d; ++i) Z(l, i, i) = double{1};
  return Z;
}

}  // namespace

TEST_CASE("the variance is followed from layer to layer", "[initialisation]") {
  const Tensor<2> x = {{1, -1}, {3, 1}};
  const auto followed = attn::variance_through_layers(x, unit_layers(2, 2), 2.0, Between::nothing);
  CHECK((followed.variance == Tensor<1>{3, 12, 48}));
}

TEST_CASE("ReLU acts between the layers, not before the first", "[initialisation]") {
  const Tensor<2> x = {{1, -1}, {3, 1}};
  const auto followed = attn::variance_through_layers(x, unit_layers(2, 2), 1.0, Between::relu);
  CHECK((followed.variance == Tensor<1>{3, 3, double(2.75)}));
}

TEST_CASE("Xavier keeps the variance, He doubles it and keeps it with ReLU", "[initialisation]") {
  const std::size_t d = 200, layers = 4;
  const auto x = random_tensor<2>({100, d}, 1);
  const auto Z = random_tensor<3>({layers, d, d}, 2);
  const double xavier = 1.0 / std::sqrt(static_cast<double>(d)), he = std::sqrt(2.0) * xavier;
  const auto last = [&](double s, Between between) {
    const auto variance = attn::variance_through_layers(x, Z, s, between).variance;
    return variance(layers) / variance(1);
  };
  CHECK(last(xavier, Between::nothing) == Approx(1.0).margin(0.2));
  CHECK(last(he, Between::nothing) == Approx(8.0).margin(1.6));
  CHECK(last(he, Between::relu) == Approx(1.0).margin(0.3));
  CHECK(last(xavier, Between::relu) == Approx(0.125).margin(0.04));
}

TEST_CASE("the standard error is how far the ratio strays when weights are drawn again and again",
          "[initialisation]") {
  const std::size_t d = 12, draws = 4000;
  const double s = 1.0 / std::sqrt(static_cast<double>(d));
  const auto x = random_tensor<2>({5, d}, 1);
  double sum = 0.0, sum_of_squares = 0.0, standard_error = 0.0;
  for (unsigned draw = 0; draw < draws; ++draw) {
    const auto followed = attn::variance_through_layers(x, random_tensor<3>({1, d, d}, 100 + draw), s,
                                                        Between::nothing);
    const double ratio = followed.variance(1) / followed.variance(0);
    sum += ratio;
    sum_of_squares += ratio * ratio;
    standard_error = followed.standard_error(1);
  }
  const double mean = sum / draws, deviation = std::sqrt(sum_of_squares / draws - mean * mean);
  CHECK(mean == Approx(1.0).margin(0.02));
  CHECK(deviation == Approx(standard_error).epsilon(0.06));
}

TEST_CASE("a variance that strays is noticed in standard errors", "[initialisation]") {
  attn::VarianceThroughLayers<double> followed = {{1.0, 1.1, 0.99}, {0.0, 0.1, 0.05}};
  CHECK(attn::error_of_ratios(followed, 1) == Approx(1.0));
  CHECK(attn::error_of_ratios(followed, 2) == Approx(2.0));
  followed.variance(2) = 2.2;
  CHECK(attn::error_of_ratios(followed, 2) == Approx(20.0));
  CHECK(attn::error_of_ratios(followed, 0) == 0.0);
  followed.variance(1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(attn::error_of_ratios(followed, 2)));
}

TEST_CASE("layers of another width are refused with both shapes", "[initialisation]") {
  const auto x = random_tensor<2>({2, 3}, 1);
  CHECK_THROWS_AS(attn::variance_through_layers(x, unit_layers<double>(1, 4), 1.0, Between::nothing),
                  std::invalid_argument);
  CHECK_THROWS_WITH(attn::variance_through_layers(x, unit_layers<double>(1, 4), 1.0, Between::nothing),
                    Contains("2×3") && Contains("1×4×4"));
}

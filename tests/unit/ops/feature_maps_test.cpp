#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/cost_counter.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::CostCounter;
using attn::Tensor;

TEST_CASE("elu + 1 is x + 1 above 0 and exp(x) below", "[feature_maps]") {
  const Tensor<2> x = {{2.0, 0.0, -1.0, -800.0}};
  const auto features = attn::elu_plus_one(x);
  CHECK(features(0, 0) == 3.0);
  CHECK(features(0, 1) == 1.0);
  CHECK(features(0, 2) == Approx(std::exp(-1.0)));
  CHECK(features(0, 3) >= 0.0);
}

TEST_CASE("positive random features are what their formula says", "[feature_maps]") {
  const Tensor<2> x = {{1.0, -2.0}}, omega = {{0.5, 1.0}, {0.0, 0.0}, {-1.0, 2.0}};
  CostCounter counter;
  const auto features = attn::positive_random_features(x, omega, counter);
  const double root = std::pow(2.0, 0.25), half_square = 5.0 / (2.0 * root * root);
  const double projections[] = {-1.5, 0.0, -5.0};
  for (std::size_t m = 0; m < 3; ++m)
    CHECK(features(0, m) == Approx(std::exp(projections[m] / root - half_square) / std::sqrt(3.0)));
  CHECK(counter.cost().multiply_adds == 2 + 3 * 2);
}

TEST_CASE("many random features come close to the exponential of the scaled score", "[feature_maps]") {
  const auto Q = random_tensor<2>({3, 4}, 1), K = random_tensor<2>({3, 4}, 2);
  const auto omega = random_tensor<2>({200'000, 4}, 9);
  CostCounter counter;
  const auto phi_Q = attn::positive_random_features(Q, omega, counter),
             phi_K = attn::positive_random_features(K, omega, counter);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double score = 0.0, product = 0.0;
      for (std::size_t c = 0; c < 4; ++c) score += Q(i, c) * K(j, c);
      for (std::size_t m = 0; m < omega.shape(0); ++m) product += phi_Q(i, m) * phi_K(j, m);
      CHECK(product == Approx(std::exp(score / 2.0)).epsilon(0.1));
    }
}

TEST_CASE("random features refuse directions of another length", "[feature_maps]") {
  CostCounter counter;
  CHECK_THROWS_AS(
      attn::positive_random_features(random_tensor<2>({3, 4}, 1), random_tensor<2>({3, 6}, 2), counter),
      std::invalid_argument);
}

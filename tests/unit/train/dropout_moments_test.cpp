#include "attn/train/dropout_moments.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/random/random_state.hpp"

using attn::RandomState;
using attn::Tensor;

TEST_CASE("masks come from the stream one after another", "[dropout_moments]") {
  const Tensor<1> weights = {double(0.5), double(0.25), double(0.25)};
  RandomState random(42), same(42);
  const auto moments = attn::dropout_moments(random, weights, 0.5, 4);
  double sum[3] = {}, sum_of_squares[3] = {};
  for (std::size_t sample = 0; sample < 4; ++sample)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto kept = same.binomial(1, 0.5);
      const double dropped = 2.0 * static_cast<double>(weights(j)) * static_cast<double>(kept);
      if (sample == 0) CHECK(moments.mask(j) == kept);
      if (sample == 0) CHECK(static_cast<double>(moments.dropped(j)) == dropped);
      sum[j] += dropped;
      sum_of_squares[j] += dropped * dropped;
    }
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(static_cast<double>(moments.mean(j)) == Approx(sum[j] / 4.0));
    CHECK(static_cast<double>(moments.variance(j)) ==
          Approx(sum_of_squares[j] / 4.0 - sum[j] * sum[j] / 16.0));
  }
  CHECK(random.random_sample() == same.random_sample());
}

TEST_CASE("mean and variance are what they should be on average", "[dropout_moments]") {
  RandomState random(42);
  const Tensor<1> weights = {0.7, 0.3};
  const double p = 0.2;
  const std::size_t samples = 20000;
  const auto moments = attn::dropout_moments(random, weights, p, samples);
  CHECK(attn::error_of_mean(moments, weights, p, static_cast<double>(samples)) < 5.0);
  CHECK(moments.variance(0) == Approx(0.49 * p / (1.0 - p)).epsilon(0.05));
}

TEST_CASE("without dropout nothing changes", "[dropout_moments]") {
  RandomState random(42);
  const Tensor<1> weights = {0.75, 0.25};
  const auto moments = attn::dropout_moments(random, weights, 0.0, 10);
  CHECK((moments.mean == weights));
  CHECK((moments.dropped == weights));
  CHECK(attn::max_abs(moments.variance) == 0.0);
}

TEST_CASE("weights that do not keep their mean are noticed", "[dropout_moments]") {
  RandomState random(42);
  const Tensor<1> weights = {0.7, 0.3};
  auto moments = attn::dropout_moments(random, weights, 0.2, 10000);
  for (double& mean : moments.mean) mean *= 0.8;  // as without the division by 1 − p
  CHECK(attn::error_of_mean(moments, weights, 0.2, 10000.0) > 30.0);
  moments.mean(1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(attn::error_of_mean(moments, weights, 0.2, 10000.0)));
}

TEST_CASE("no sample and a p that is no probability below 1 are refused", "[dropout_moments]") {
  RandomState random(42);
  const Tensor<1> weights = {1.0};
  CHECK_THROWS_AS(attn::dropout_moments(random, weights, 0.5, 0), std::invalid_argument);
  CHECK_THROWS_AS(attn::dropout_moments(random, weights, 1.0, 1), std::invalid_argument);
}

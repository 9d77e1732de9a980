#include "attn/efficient/linear_attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/efficient/feature_maps.hpp"
#include "tests/unit/fast/plain_attention.hpp"

using attn::Meter;
using attn::Tensor;
using Catch::Contains;

namespace {

AttentionInputs random_features(std::size_t n, std::size_t features, std::size_t d_v) {
  const auto in = random_attention(n, features, d_v);
  return {attn::elu_plus_one(in.Q), attn::elu_plus_one(in.K), in.V};
}

}  // namespace

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
  Meter meter;
  const auto features = attn::positive_random_features(x, omega, meter);
  const double root = std::pow(2.0, 0.25), half_square = 5.0 / (2.0 * root * root);
  const double projections[] = {-1.5, 0.0, -5.0};
  for (std::size_t m = 0; m < 3; ++m)
    CHECK(features(0, m) == Approx(std::exp(projections[m] / root - half_square) / std::sqrt(3.0)));
  CHECK(meter.work().multiply_adds == 2 + 3 * 2);
}

TEST_CASE("many random features come close to the exponential of the scaled score", "[feature_maps]") {
  const auto in = random_attention<double>(3, 4, 1);
  const auto omega = random_tensor<2>({200'000, 4}, 9);
  Meter meter;
  const auto phi_Q = attn::positive_random_features(in.Q, omega, meter),
             phi_K = attn::positive_random_features(in.K, omega, meter);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double score = 0.0, product = 0.0;
      for (std::size_t c = 0; c < 4; ++c) score += in.Q(i, c) * in.K(j, c);
      for (std::size_t m = 0; m < omega.shape(0); ++m) product += phi_Q(i, m) * phi_K(j, m);
      CHECK(product == Approx(std::exp(score / 2.0)).epsilon(0.1));
    }
}

TEST_CASE("the summary of all keys gives what all weights give", "[linear_attention]") {
  const std::size_t n = GENERATE(1, 2, 9), features = GENERATE(1, 5), d_v = GENERATE(1, 4);
  const auto in = random_features(n, features, d_v);
  Meter meter, causal_meter;
  const auto linear = attn::linear_attention(in.Q, in.K, in.V, meter);
  const auto causal = attn::causal_linear_attention(in.Q, in.K, in.V, causal_meter);
  const auto plain = attn::plain_linear_attention(in.Q, in.K, in.V, Mask<2>({n, n}, true));
  const auto plain_causal = attn::plain_linear_attention(in.Q, in.K, in.V, attn::causal_mask(n, n));
  CHECK(attn::max_abs_difference(linear.output, plain.output) <= rounding);
  CHECK(attn::max_abs_difference(causal.output, plain_causal.output) <= rounding);
  CHECK(attn::row_sum_deviation(plain.weights) <= rounding);
  CHECK(attn::max_abs_difference(linear.S, causal.S) == 0.0);
  CHECK(attn::max_abs_difference(linear.z, causal.z) == 0.0);
  const auto expected = static_cast<std::int64_t>(n * features * (2 * d_v + 1));
  CHECK(meter.work().multiply_adds == expected);
  CHECK(causal_meter.work().multiply_adds == expected);
  const auto summary = static_cast<std::int64_t>(features * (d_v + 1) * sizeof(double));
  CHECK(meter.work().score_bytes == summary);
  CHECK(causal_meter.work().score_bytes == summary);
}

TEST_CASE("a recurrence that reads before it adds is not causal attention", "[linear_attention]") {
  const auto in = random_features<double>(5, 3, 2);
  Meter meter;
  const auto causal = attn::causal_linear_attention(in.Q, in.K, in.V, meter).output;
  auto without_own_key = attn::causal_mask(5, 5);
  for (std::size_t i = 1; i < 5; ++i) without_own_key(i, i) = false;
  const auto late = attn::plain_linear_attention(in.Q, in.K, in.V, without_own_key).output;
  CHECK(attn::max_abs_difference(causal, late) > 0.01);
  const auto everything =
      attn::plain_linear_attention(in.Q, in.K, in.V, Mask<2>({5, 5}, true)).output;
  CHECK(attn::max_abs_difference(causal, everything) > 0.01);
}

TEST_CASE("a later token does not change an earlier output of the recurrence", "[linear_attention]") {
  auto in = random_features<double>(5, 3, 2);
  Meter meter;
  const auto before = attn::causal_linear_attention(in.Q, in.K, in.V, meter).output;
  in.V(4, 0) = 100.0;
  const auto after = attn::causal_linear_attention(in.Q, in.K, in.V, meter).output;
  CHECK(attn::max_abs_difference(attn::rows(before, 0, 4), attn::rows(after, 0, 4)) == 0.0);
}

TEST_CASE("a query whose features are all 0 gets zeros", "[linear_attention]") {
  auto in = random_features<double>(3, 4, 2);
  attn::Tensor<2> zeros({3, 2}, 0.0);
  in.Q.fill(0.0);
  attn::Wiring wiring(3);
  Meter meter(wiring);
  CHECK((attn::linear_attention(in.Q, in.K, in.V, meter).output == zeros));
  CHECK((attn::causal_linear_attention(in.Q, in.K, in.V, meter).output == zeros));
  CHECK((attn::plain_linear_attention(in.Q, in.K, in.V, attn::causal_mask(3, 3)).output == zeros));
}

TEST_CASE("linear attention refuses what does not fit", "[linear_attention]") {
  const auto in = random_features<double>(3, 4, 2), other = random_features<double>(5, 6, 2);
  Meter meter;
  CHECK_THROWS_WITH(attn::linear_attention(in.Q, other.K, other.V, meter),
                    Contains("3×4") && Contains("5×6"));
  CHECK_THROWS_WITH(attn::linear_attention(in.Q, in.K, other.V, meter), Contains("5×2"));
  CHECK_THROWS_AS(attn::causal_linear_attention(attn::rows(in.Q, 0, 2), in.K, in.V, meter),
                  std::invalid_argument);
  CHECK_THROWS_AS(attn::plain_linear_attention(in.Q, in.K, in.V, attn::causal_mask(2, 2)),
                  std::invalid_argument);
  CHECK_THROWS_AS(attn::positive_random_features(in.Q, other.Q, meter), std::invalid_argument);
}

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "fast/bench/benchmark.hpp"

using namespace attn::bench;

namespace {

/// Two rounds, the second of them on a machine half as fast.
LengthResult result_at(std::size_t n, double seconds_of_simd) {
  const auto series = [&](const char* kernel, Pass pass, double operations, double seconds) {
    return Series{
        .kernel = kernel, .pass = pass, .operations = operations, .seconds = {seconds, 2.0 * seconds}};
  };
  return {.setting = {.n = n, .causal = true, .backward = true},
          .series = {series("xtensor", Pass::forward, 1e9, 4.0),
                     series("simd", Pass::forward, 1e9, seconds_of_simd),
                     series("simd", Pass::backward, 2.5e9, 3.0 * seconds_of_simd),
                     series("simd-full", Pass::forward, 2e9, 2.0)},
          .product_rates = {8e9, 4e9},
          .peak_rates = {16e9, 8e9}};
}

}  // namespace

TEST_CASE("ratios are taken within a round") {
  const auto result = result_at(64, 0.5);
  const auto statistics = statistics_of(result);
  REQUIRE(statistics.size() == 4);
  const auto& simd = statistics[1];
  CHECK(simd.series == &result.series[1]);
  CHECK(simd.seconds.median == 0.75);
  CHECK(simd.rate == Approx(1e9 / 0.75));
  CHECK(simd.share_of_product == Approx(0.25));
  CHECK(simd.share_of_peak == Approx(0.125));
  CHECK(simd.speedup.value() == Approx(8.0));
  CHECK(simd.of_full.value() == Approx(0.25));
  CHECK_FALSE(simd.of_forward.has_value());
}

TEST_CASE("a ratio to what was not measured is left out") {
  const auto result = result_at(64, 0.5);
  const auto statistics = statistics_of(result);
  const auto& backward = statistics[2];
  CHECK(backward.of_forward.value() == Approx(3.0));
  CHECK_FALSE(backward.speedup.has_value());
  CHECK_FALSE(backward.of_full.has_value());
}

TEST_CASE("growth is fitted over the three longest lengths, in units of the matrix product") {
  std::vector<LengthResult> lengths = {result_at(32, 9.0), result_at(64, 1.0), result_at(128, 4.0),
                                       result_at(256, 16.0)};
  lengths[2].product_rates = {4e9, 2e9};  // a machine half as fast: simd would have taken half as long
  for (auto& series : lengths[2].series)
    for (double& seconds : series.seconds) seconds *= 2.0;
  for (const auto& growth : growth_of(lengths)) {
    CHECK(growth.lengths == std::vector<double>{64.0, 128.0, 256.0});
    CHECK(growth.exponent.value() == Approx(growth.kernel == "simd" ? 2.0 : 0.0).margin(1e-9));
  }
  CHECK(growth_of(lengths).size() == 4);
}

TEST_CASE("two lengths give no exponent") {
  for (const auto& growth : growth_of({result_at(64, 1.0), result_at(128, 4.0)})) {
    CHECK(growth.lengths == std::vector<double>{64.0, 128.0});
    CHECK_FALSE(growth.exponent.has_value());
  }
}

TEST_CASE("a kernel that ran at one length only has no growth") {
  CHECK(growth_of({result_at(64, 1.0)}).empty());
}

TEST_CASE("quartiles lie where numpy.percentile has them") {
  const auto odd = quartiles({7.0, 1.0, 3.0, 4.0, 2.0});
  CHECK(odd.lower == 2.0);
  CHECK(odd.median == 3.0);
  CHECK(odd.upper == 4.0);
  const auto even = quartiles({4.0, 1.0, 10.0, 3.0});
  CHECK(even.lower == 2.5);
  CHECK(even.median == 3.5);
  CHECK(even.upper == 5.5);
}

TEST_CASE("a single value is its own median and quartiles") {
  const auto one = quartiles({0.25});
  CHECK(one.lower == 0.25);
  CHECK(one.median == 0.25);
  CHECK(one.upper == 0.25);
}

TEST_CASE("the median does not move with a single outlier") {
  CHECK(median({1.0, 2.0, 3.0, 1000.0, 2.5}) == 2.5);
}

TEST_CASE("a ratio is taken within each round before the median") {
  // The machine is ten times as slow in the second round: the ratio of the medians would be 2.
  const std::vector<double> x = {2.0, 40.0, 6.0}, y = {1.0, 20.0, 2.0};
  CHECK(median_ratio(x, y) == 2.0);
  CHECK(median_ratio({1.0, 20.0, 4.0}, {2.0, 10.0, 1.0}) == 2.0);
  CHECK(median({1.0, 20.0, 4.0}) / median({2.0, 10.0, 1.0}) == 2.0);
  CHECK(median_ratio({1.0, 30.0, 4.0}, {1.0, 10.0, 2.0}) == 2.0);
}

TEST_CASE("series that do not make pairs have no ratio") {
  CHECK_THROWS_AS(median_ratio({1.0, 2.0}, {1.0}), std::invalid_argument);
  CHECK_THROWS_AS(median_ratio({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(quartiles({}), std::invalid_argument);
}

TEST_CASE("the exponent of an exact power is found, whatever the factor before it") {
  const std::vector<double> n = {100.0, 200.0, 400.0, 1000.0};
  for (const double exponent : {0.0, 1.0, 1.5, 2.0}) {
    std::vector<double> times;
    for (const double x : n) times.push_back(3e-9 * std::pow(x, exponent));
    CHECK(fitted_exponent(n, times) == Approx(exponent).margin(1e-12));
  }
}

TEST_CASE("the exponent is the slope of the least-squares line") {
  // By hand: over ln n = 0, 1, 2 the slope through 0, 2, 1 is (1 − 0) / 2.
  const double e = std::exp(1.0);
  CHECK(fitted_exponent({1.0, e, e * e}, {1.0, e * e, e}) == Approx(0.5));
}

TEST_CASE("one length gives no growth") {
  CHECK_THROWS_AS(fitted_exponent({64.0}, {1.0}), std::invalid_argument);
  CHECK_THROWS_AS(fitted_exponent({64.0, 64.0, 64.0}, {1.0, 2.0, 3.0}), std::invalid_argument);
}

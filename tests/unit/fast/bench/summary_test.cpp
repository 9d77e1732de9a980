#include "fast/bench/summary.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

using namespace attn::bench;

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

TEST_CASE("one length tells nothing of growth") {
  CHECK_THROWS_AS(fitted_exponent({64.0}, {1.0}), std::invalid_argument);
  CHECK_THROWS_AS(fitted_exponent({64.0, 64.0, 64.0}, {1.0, 2.0, 3.0}), std::invalid_argument);
}

#include "fast/bench/figures.hpp"

#include <catch2/catch.hpp>

using namespace attn::bench;

namespace {

/// Two rounds, the second of them on a machine half as fast.
Heat heat_at(std::size_t n, double seconds_of_simd) {
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

TEST_CASE("figures are ratios within a round") {
  const auto figures = figures_of(heat_at(64, 0.5));
  REQUIRE(figures.size() == 4);
  const auto& simd = figures[1];
  CHECK(simd.n == 64);
  CHECK(simd.rounds == 2);
  CHECK(simd.seconds.median == 0.75);
  CHECK(simd.rate == Approx(1e9 / 0.75));
  CHECK(simd.share_of_product == Approx(0.25));
  CHECK(simd.share_of_peak == Approx(0.125));
  CHECK(simd.times_faster.value() == Approx(8.0));
  CHECK(simd.of_full.value() == Approx(0.25));
  CHECK_FALSE(simd.of_forward.has_value());
}

TEST_CASE("a ratio to what was not measured is left out") {
  const auto figures = figures_of(heat_at(64, 0.5));
  const auto& backward = figures[2];
  CHECK(backward.of_forward.value() == Approx(3.0));
  CHECK_FALSE(backward.times_faster.has_value());
  CHECK_FALSE(backward.of_full.has_value());
}

TEST_CASE("growth is fitted over the three longest lengths, in units of the matrix product") {
  std::vector<Heat> heats = {heat_at(32, 9.0), heat_at(64, 1.0), heat_at(128, 4.0), heat_at(256, 16.0)};
  heats[2].product_rates = {4e9, 2e9};  // a machine half as fast: simd would have taken half as long
  for (auto& series : heats[2].series)
    for (double& seconds : series.seconds) seconds *= 2.0;
  for (const auto& growth : growth_of(heats)) {
    CHECK(growth.lengths == std::vector<double>{64.0, 128.0, 256.0});
    CHECK(growth.exponent == Approx(growth.kernel == "simd" ? 2.0 : 0.0).margin(1e-9));
  }
  CHECK(growth_of(heats).size() == 4);
}

TEST_CASE("a kernel that ran at one length only has no growth") {
  CHECK(growth_of({heat_at(64, 1.0)}).empty());
}

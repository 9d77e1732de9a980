#include "lessons/scaling.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "attn/ops/measure.hpp"
#include "attn/ops/statistics.hpp"
#include "attn/random/random_state.hpp"
#include "tests/unit/lessons/page.hpp"

using attn::RandomState;
using attn::Tensor;

namespace {

Tensor<1> random_scores(RandomState& random, std::size_t samples, std::size_t d_k) {
  const auto queries = random.normal<2>(0.0, 1.0, {samples, d_k});
  return lessons::dot_products(queries, random.normal<2>(0.0, 1.0, {samples, d_k}));
}

}  // namespace

TEST_CASE("the score of a query and its key is their dot product") {
  RandomState random(42);
  const auto queries = random.normal<2>(0.0, 1.0, {5, 3}), keys = random.normal<2>(0.0, 1.0, {5, 3});
  const auto scores = lessons::dot_products(queries, keys);
  for (std::size_t i = 0; i < 5; ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < 3; ++j) score += queries(i, j) * keys(i, j);
    CHECK(scores(i) == score);
  }
}

TEST_CASE("weights are of whole rows of scores", "[scaling]") {
  const auto weights = lessons::weights_of({0, 0, 3, 3, 9}, 2, 3.0);
  CHECK(weights.shape() == std::array<std::size_t, 2>{2, 2});
  CHECK(attn::mean_entropy(weights) == Approx(std::log(2.0)));
  CHECK(attn::mean_max_weight(weights) == Approx(0.5));
  CHECK(attn::mean_jacobian_norm(weights) == Approx(0.5));
}

TEST_CASE("scaled weights come from scores divided by √d_k", "[scaling]") {
  const double share = 1.0 / (1.0 + std::exp(-2.0));  // of a lead of 8 / √16
  const auto scaled = lessons::weights_of({8.0, 0.0}, 2, std::sqrt(16.0));
  CHECK(attn::mean_max_weight(lessons::weights_of({8.0, 0.0}, 2, 1.0)) ==
        Approx(1.0 / (1.0 + std::exp(-8.0))));
  CHECK(attn::mean_max_weight(scaled) == Approx(share));
  CHECK(attn::mean_entropy(scaled) ==
        Approx(-share * std::log(share) - (1.0 - share) * std::log(1.0 - share)));
  CHECK(attn::mean_jacobian_norm(scaled) == Approx(2.0 * share * (1.0 - share)));
}

TEST_CASE("means and variances of random scores stray as far as their standard errors say") {
  constexpr std::size_t runs = 400, samples = 256, d_k = 4;
  RandomState random(1);
  auto means = Tensor<1>::from_shape({runs}), variances = means;
  for (std::size_t run = 0; run < runs; ++run) {
    const auto scores = random_scores(random, samples, d_k);
    means(run) = attn::mean(scores);
    variances(run) = attn::variance(scores);
  }
  const auto spread = [](const Tensor<1>& x) { return std::sqrt(attn::variance(x)); };
  CHECK(spread(means) == Approx(lessons::standard_error_of_mean(d_k, samples)).epsilon(0.15));
  CHECK(spread(variances) == Approx(lessons::standard_error_of_variance(d_k, samples)).epsilon(0.15));
}

TEST_CASE("the standard deviation follows from the variance that was shown", "[scaling]") {
  const lessons::Options options = {.d_k_list = {4}, .samples = 1024};
  const auto usual = told_by("scaling", options);
  const auto changed = told_by("scaling", options, {}, one_percent_more("variance"));
  CHECK(changed.elements("std")[0] == Approx(usual.elements("std")[0] * std::sqrt(1.01)));
  CHECK(changed.elements("mean") == usual.elements("mean"));
}

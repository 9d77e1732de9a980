#include "attn/ops/score_statistics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/statistics.hpp"
#include "attn/random/random_state.hpp"

using attn::RandomState;
using attn::Tensor;

TEST_CASE("random scores are dot products, all queries being drawn before the first key") {
  RandomState random(42), again(42);
  const auto queries = again.normal<2>(0.0, 1.0, {5, 3}), keys = again.normal<2>(0.0, 1.0, {5, 3});
  const auto scores = attn::random_scores<double>(random, 5, 3);
  for (std::size_t i = 0; i < 5; ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < 3; ++j) score += queries(i, j) * keys(i, j);
    CHECK(scores(i) == score);
  }
  CHECK(random.random_sample() == again.random_sample());
}

TEST_CASE("float scores are those of queries and keys rounded to float") {
  RandomState random(42), again(42);
  const auto q = static_cast<float>(again.normal()), k = static_cast<float>(again.normal());
  CHECK(attn::random_scores<float>(random, 1, 1)(0) ==
        static_cast<float>(static_cast<double>(q) * static_cast<double>(k)));
}

TEST_CASE("moments are of all scores, weights of whole rows of them", "[score_statistics]") {
  const Tensor<1> scores = {0, 0, 3, 3, 9};
  const auto statistics = attn::score_statistics(scores, 9, 2);
  CHECK(statistics.d_k == 9.0);
  CHECK(statistics.mean == 3.0);
  CHECK(statistics.variance == Approx(54.0 / 5.0));
  CHECK(statistics.std == Approx(std::sqrt(54.0 / 5.0)));
  CHECK(statistics.entropy_raw == Approx(std::log(2.0)));
  CHECK(statistics.max_weight_raw == Approx(0.5));
  CHECK(statistics.jacobian_raw == Approx(0.5));
}

TEST_CASE("scaled weights come from scores divided by √d_k") {
  const Tensor<1> scores = {8.0, 0.0};
  const double share = 1.0 / (1.0 + std::exp(-2.0));  // of a lead of 8 / √16
  const auto statistics = attn::score_statistics(scores, 16, 2);
  CHECK(statistics.max_weight_raw == Approx(1.0 / (1.0 + std::exp(-8.0))));
  CHECK(statistics.max_weight_scaled == Approx(share));
  CHECK(statistics.entropy_scaled ==
        Approx(-share * std::log(share) - (1.0 - share) * std::log(1.0 - share)));
  CHECK(statistics.jacobian_scaled == Approx(2.0 * share * (1.0 - share)));
}

TEST_CASE("no scores have no statistics") {
  CHECK_THROWS_AS(attn::score_statistics(Tensor<1>::from_shape({0}), 4, 2), std::invalid_argument);
}

TEST_CASE("means and variances of random scores stray as far as their standard errors say") {
  constexpr std::size_t runs = 400, samples = 256, d_k = 4;
  RandomState random(1);
  auto means = Tensor<1>::from_shape({runs}), variances = means;
  for (std::size_t run = 0; run < runs; ++run) {
    const auto scores = attn::random_scores<double>(random, samples, d_k);
    means(run) = attn::mean(scores);
    variances(run) = attn::variance(scores);
  }
  const auto spread = [](const Tensor<1>& x) { return std::sqrt(attn::variance(x)); };
  CHECK(spread(means) == Approx(attn::standard_error_of_mean(d_k, samples)).epsilon(0.15));
  CHECK(spread(variances) == Approx(attn::standard_error_of_variance(d_k, samples)).epsilon(0.15));
}

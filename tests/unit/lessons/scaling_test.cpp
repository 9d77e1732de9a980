#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <xtensor/xmath.hpp>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/random/random.hpp"
#include "tests/unit/lessons/page.hpp"

using attn::RandomState;
using attn::Tensor;

namespace {

/// The dot product of each query with its key, as the lesson draws them first.
Tensor<1> random_scores(std::uint32_t seed, std::size_t samples, std::size_t d_k) {
  RandomState random(seed);
  const auto queries = random.normal<2>(0.0, 1.0, {samples, d_k});
  const auto keys = random.normal<2>(0.0, 1.0, {samples, d_k});
  auto scores = Tensor<1>::from_shape({samples});
  for (std::size_t i = 0; i < samples; ++i) {
    scores(i) = 0.0;
    for (std::size_t j = 0; j < d_k; ++j) scores(i) += queries(i, j) * keys(i, j);
  }
  return scores;
}

/// The mean over rows of |diag(w) − w wᵀ|, by its definition.
double mean_jacobian_norm(const Tensor<2>& weights) {
  double sum = 0.0;
  for (std::size_t row = 0; row < weights.shape(0); ++row) {
    double sum_of_squares = 0.0;
    for (std::size_t i = 0; i < weights.shape(1); ++i)
      for (std::size_t j = 0; j < weights.shape(1); ++j)
        sum_of_squares += std::pow(weights(row, i) * ((i == j ? 1.0 : 0.0) - weights(row, j)), 2);
    sum += std::sqrt(sum_of_squares);
  }
  return sum / static_cast<double>(weights.shape(0));
}

Listener told_of(std::uint32_t seed, std::size_t samples, std::size_t d_k) {
  return told_by("scaling", {.d_k_list = {d_k}, .samples = samples, .seed = seed});
}

}  // namespace

TEST_CASE("the score of a query and its key is their dot product", "[scaling]") {
  const auto shown = told_of(42, 20, 3).elements("example/scores");
  const auto scores = random_scores(42, 20, 3);
  for (std::size_t i = 0; i < 4; ++i) CHECK(shown[i] == Approx(scores(i)));
}

TEST_CASE("softmax is measured on whole rows of 16 scores, raw and divided by √d_k", "[scaling]") {
  for (const std::size_t samples : {16, 63}) {
    const auto told = told_of(7, samples, 9);
    const auto scores = random_scores(7, samples, 9);
    Tensor<2> rows({samples / 16, 16});
    std::copy_n(scores.begin(), rows.size(), rows.begin());
    const auto is_measured = [&](const std::string& way, const Tensor<2>& weights) {
      CHECK(told.elements("entropy_" + way)[0] ==
            Approx(xt::sum(-weights * xt::log(weights))() / static_cast<double>(weights.shape(0))));
      CHECK(told.elements("max_weight_" + way)[0] == Approx(xt::mean(xt::amax(weights, {1}))()));
      CHECK(told.elements("jacobian_" + way)[0] == Approx(mean_jacobian_norm(weights)));
    };
    is_measured("raw", attn::softmax(rows));
    is_measured("scaled", attn::softmax<2>(rows / 3.0));
  }
}

TEST_CASE("means and variances of random scores stray as far as their standard errors say", "[scaling]") {
  constexpr std::uint32_t runs = 200;
  double of_means = 0.0, of_variances = 0.0;  // squares of distances in standard errors
  for (std::uint32_t seed = 0; seed < runs; ++seed) {
    const auto told = told_of(seed, 1024, 4);
    of_means += std::pow(told.measurements.at("mean-as-derived").value, 2) / runs;
    of_variances += std::pow(told.measurements.at("variance-as-derived").value, 2) / runs;
  }
  CHECK(of_means == Approx(1.0).epsilon(0.3));
  CHECK(of_variances == Approx(1.0).epsilon(0.3));
}

TEST_CASE("the standard deviation follows from the variance that was shown", "[scaling]") {
  const lessons::Options options = {.d_k_list = {4}, .samples = 1024};
  const auto usual = told_by("scaling", options);
  const auto changed = told_by("scaling", options, {}, one_percent_more("variance"));
  CHECK(changed.elements("std")[0] == Approx(usual.elements("std")[0] * std::sqrt(1.01)));
  CHECK(changed.elements("mean") == usual.elements("mean"));
}

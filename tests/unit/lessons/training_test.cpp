#include "lessons/training.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/random/random_state.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Dtype;
using attn::Integers;
using attn::RandomState;
using attn::Tensor;
using Catch::Contains;
using lessons::Between;

namespace {

/// [layer×d×d] of unit matrices.
Tensor<3> unit_layers(std::size_t layers, std::size_t d) {
  Tensor<3> Z = xt::zeros<double>({layers, d, d});
  for (std::size_t l = 0; l < layers; ++l)
    for (std::size_t i = 0; i < d; ++i) Z(l, i, i) = 1.0;
  return Z;
}

Tensor<2> clip_by_norm(const Tensor<2>& gradients, double max_norm) {
  Page page("training", {});
  return lessons::clip_by_norm(page.mute, gradients, max_norm);
}

lessons::Options usual() {
  return lesson_called("training").defaults;
}

bool all_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& one) { return one.second.holds(); });
}

bool has_nan(const Listener& told, const std::string& id) {
  const auto elements = told.elements(id);
  return std::any_of(elements.begin(), elements.end(), [](double element) { return std::isnan(element); });
}

}  // namespace

TEST_CASE("the variance is followed from layer to layer", "[training]") {
  const Tensor<2> x = {{1, -1}, {3, 1}};
  const auto followed = lessons::variance_through_layers(x, unit_layers(2, 2), 2.0, Between::nothing);
  CHECK((followed.variance == Tensor<1>{3, 12, 48}));
}

TEST_CASE("ReLU acts between the layers, not before the first", "[training]") {
  const Tensor<2> x = {{1, -1}, {3, 1}};
  const auto followed = lessons::variance_through_layers(x, unit_layers(2, 2), 1.0, Between::relu);
  CHECK((followed.variance == Tensor<1>{3, 3, 2.75}));
}

TEST_CASE("Xavier keeps the variance, He doubles it and keeps it with ReLU", "[training]") {
  const std::size_t d = 200, layers = 4;
  const auto x = random_tensor<2>({100, d}, 1);
  const auto Z = random_tensor<3>({layers, d, d}, 2);
  const double xavier = 1.0 / std::sqrt(static_cast<double>(d)), he = std::sqrt(2.0) * xavier;
  const auto last = [&](double s, Between between) {
    const auto variance = lessons::variance_through_layers(x, Z, s, between).variance;
    return variance(layers) / variance(1);
  };
  CHECK(last(xavier, Between::nothing) == Approx(1.0).margin(0.2));
  CHECK(last(he, Between::nothing) == Approx(8.0).margin(1.6));
  CHECK(last(he, Between::relu) == Approx(1.0).margin(0.3));
  CHECK(last(xavier, Between::relu) == Approx(0.125).margin(0.04));
}

TEST_CASE("the standard error is how far the ratio strays when weights are drawn again and again",
          "[training]") {
  const std::size_t d = 12, draws = 4000;
  const double s = 1.0 / std::sqrt(static_cast<double>(d));
  const auto x = random_tensor<2>({5, d}, 1);
  double sum = 0.0, sum_of_squares = 0.0, standard_error = 0.0;
  for (unsigned draw = 0; draw < draws; ++draw) {
    const auto followed =
        lessons::variance_through_layers(x, random_tensor<3>({1, d, d}, 100 + draw), s, Between::nothing);
    const double ratio = followed.variance(1) / followed.variance(0);
    sum += ratio;
    sum_of_squares += ratio * ratio;
    standard_error = followed.standard_error(1);
  }
  const double mean = sum / draws, deviation = std::sqrt(sum_of_squares / draws - mean * mean);
  CHECK(mean == Approx(1.0).margin(0.02));
  CHECK(deviation == Approx(standard_error).epsilon(0.06));
}

TEST_CASE("a variance that strays is noticed in standard errors", "[training]") {
  lessons::VarianceThroughLayers followed = {{1.0, 1.1, 0.99}, {0.0, 0.1, 0.05}};
  CHECK(lessons::error_of_ratios(followed, 1, Dtype::float64) == Approx(1.0));
  CHECK(lessons::error_of_ratios(followed, 2, Dtype::float64) == Approx(2.0));
  followed.variance(2) = 2.2;
  CHECK(lessons::error_of_ratios(followed, 2, Dtype::float64) == Approx(20.0));
  CHECK(lessons::error_of_ratios(followed, 0, Dtype::float64) == 0.0);
  followed.variance(1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(lessons::error_of_ratios(followed, 2, Dtype::float64)));
}

TEST_CASE("layers of another width are refused with both shapes", "[training]") {
  const auto x = random_tensor<2>({2, 3}, 1);
  CHECK_THROWS_AS(lessons::variance_through_layers(x, unit_layers(1, 4), 1.0, Between::nothing),
                  std::invalid_argument);
  CHECK_THROWS_WITH(lessons::variance_through_layers(x, unit_layers(1, 4), 1.0, Between::nothing),
                    Contains("2×3") && Contains("1×4×4"));
}

TEST_CASE("the rate rises in a straight line and falls with the root", "[training]") {
  const std::int64_t d_model = 512, warmup = 4000;
  const double peak = lessons::learning_rate(warmup, d_model, warmup);
  CHECK(peak == Approx(1.0 / std::sqrt(512.0 * 4000.0)).epsilon(1e-14));
  CHECK(lessons::learning_rate(1000, d_model, warmup) == Approx(peak / 4.0).epsilon(1e-14));
  CHECK(lessons::learning_rate(16000, d_model, warmup) == Approx(peak / 2.0).epsilon(1e-14));
}

TEST_CASE("the rate is highest at the end of the warm-up", "[training]") {
  const std::int64_t warmup = GENERATE(1, 2, 7, 100);
  const double peak = lessons::learning_rate(warmup, 64, warmup);
  for (std::int64_t step = 0; step <= 5 * warmup + 5; ++step) {
    const double rate = lessons::learning_rate(step, 64, warmup);
    CHECK((step == warmup ? rate == peak : rate < peak));
  }
}

TEST_CASE("step 0 has the rate 0, although step^−0.5 is infinite there", "[training]") {
  CHECK(lessons::learning_rate(0, 64, 10) == 0.0);
}

TEST_CASE("a step before the first and an empty warm-up are refused", "[training]") {
  CHECK_THROWS_AS(lessons::learning_rate(-1, 64, 10), std::invalid_argument);
  CHECK_THROWS_AS(lessons::learning_rate(1, 0, 10), std::invalid_argument);
  CHECK_THROWS_AS(lessons::learning_rate(1, 64, 0), std::invalid_argument);
}

TEST_CASE("the step of the largest rate is found, also where it is not the warm-up", "[training]") {
  const Integers<1> steps = {0, 10, 20, 30};
  CHECK(lessons::step_of_largest(steps, Tensor<1>{0, 1, 3, 2}) == 20);
  CHECK(lessons::step_of_largest(steps, Tensor<1>{4, 1, 3, 2}) == 0);
  CHECK(lessons::step_of_largest(steps, Tensor<1>{1, 2, 2, 2}) == 10);
  CHECK_THROWS_AS(lessons::step_of_largest(steps, Tensor<1>{1, 2}), std::invalid_argument);
}

TEST_CASE("a long gradient is shortened by one factor", "[training]") {
  Page page("training", {});
  const auto clipped = lessons::clip_by_norm(page.bench, {{3.0, 0.0}, {0.0, 4.0}}, 1.0);
  CHECK(page.told.elements("layer_norms") == std::vector<double>{3.0, 4.0});
  CHECK(page.told.elements("norm") == std::vector<double>{5.0});
  CHECK(page.told.elements("factor") == std::vector<double>{1.0 / (5.0 + 1e-6)});
  CHECK(clipped(1, 1) == Approx(0.8).epsilon(1e-6));
  CHECK(clipped(0, 1) == 0.0);
}

TEST_CASE("a short gradient stays as it is, bit for bit", "[training]") {
  const auto gradients = random_tensor<2>({3, 4}, 1);
  CHECK((clip_by_norm(gradients, 100.0) == gradients));
}

TEST_CASE("the length of a gradient is known where its squares are no numbers", "[training]") {
  CHECK(lessons::norm_of({{3e200, 4e200}}) == Approx(5e200));
  CHECK(lessons::norm_of({{3e-200, 4e-200}}) == Approx(5e-200));
  CHECK(lessons::norm_of({{0.0, 0.0}}) == 0.0);
  CHECK(lessons::cosine({{1e200, 0.0}}, {{1e-200, 1e-200}}) == Approx(std::sqrt(0.5)));
}

TEST_CASE("a clipped gradient is short enough and points the same way", "[training]") {
  const auto gradients = random_tensor<2>({6, 4}, 2);
  const double max_norm = GENERATE(1e-6, 0.1, 1.0, 3.0);
  const auto clipped = clip_by_norm(gradients, max_norm);
  CHECK(lessons::norm_of(clipped) <= max_norm * (1 + 1e-6));
  CHECK(lessons::cosine(gradients, clipped) == Approx(1.0).epsilon(1e-7));
}

TEST_CASE("clipping by value turns a gradient", "[training]") {
  const Tensor<2> gradients = {{3, -1, 0.5}};
  const auto clipped = lessons::clip_by_value(gradients, 1.0);
  CHECK((clipped == Tensor<2>{{1, -1, 0.5}}));
  CHECK(lessons::cosine(gradients, clipped) < 0.9);
}

TEST_CASE("the cosine tells directions apart", "[training]") {
  const Tensor<2> x = {{1.0, 2.0}};
  CHECK(lessons::cosine(x, {{2.0, 4.0}}) == Approx(1.0));
  CHECK(lessons::cosine(x, {{-1.0, -2.0}}) == Approx(-1.0));
  CHECK(lessons::cosine(x, {{2.0, -1.0}}) == Approx(0.0).margin(1e-15));
  CHECK(std::isnan(lessons::cosine(x, {{0.0, 0.0}})));
  CHECK_THROWS_AS(lessons::cosine(x, {{1.0}}), std::invalid_argument);
}

TEST_CASE("a limit that is not positive is refused", "[training]") {
  const double limit = GENERATE(0.0, -1.0, std::numeric_limits<double>::quiet_NaN());
  const Tensor<2> gradients = {{1.0}};
  CHECK_THROWS_AS(clip_by_norm(gradients, limit), std::invalid_argument);
  CHECK_THROWS_AS(lessons::clip_by_value(gradients, limit), std::invalid_argument);
}

TEST_CASE("masks come from the stream one after another", "[training]") {
  const Tensor<1> weights = {0.5, 0.25, 0.25};
  RandomState random(42), same(42);
  const auto moments = lessons::dropout_moments(random, weights, 0.5, 4);
  double sum[3] = {}, sum_of_squares[3] = {};
  for (std::size_t sample = 0; sample < 4; ++sample)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto kept = same.binomial(1, 0.5);
      const double dropped = 2.0 * weights(j) * static_cast<double>(kept);
      if (sample == 0) CHECK(moments.first_mask(j) == kept);
      sum[j] += dropped;
      sum_of_squares[j] += dropped * dropped;
    }
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(moments.mean(j) == Approx(sum[j] / 4.0));
    CHECK(moments.variance(j) == Approx(sum_of_squares[j] / 4.0 - sum[j] * sum[j] / 16.0));
  }
  CHECK(random.random_sample() == same.random_sample());
}

TEST_CASE("mean and variance are what they should be on average", "[training]") {
  RandomState random(42);
  const Tensor<1> weights = {0.7, 0.3};
  const double p = 0.2;
  const std::size_t samples = 20000;
  const auto moments = lessons::dropout_moments(random, weights, p, samples);
  CHECK(lessons::error_of_mean(moments.mean, weights, p, static_cast<double>(samples), Dtype::float64) < 5.0);
  CHECK(moments.variance(0) == Approx(0.49 * p / (1.0 - p)).epsilon(0.05));
}

TEST_CASE("without dropout nothing changes", "[training]") {
  RandomState random(42);
  const Tensor<1> weights = {0.75, 0.25};
  const auto moments = lessons::dropout_moments(random, weights, 0.0, 10);
  CHECK((moments.mean == weights));
  CHECK(attn::max_abs(moments.variance) == 0.0);
}

TEST_CASE("weights that do not keep their mean are noticed", "[training]") {
  RandomState random(42);
  const Tensor<1> weights = {0.7, 0.3};
  auto moments = lessons::dropout_moments(random, weights, 0.2, 10000);
  for (double& mean : moments.mean) mean *= 0.8;  // as without the division by 1 − p
  CHECK(lessons::error_of_mean(moments.mean, weights, 0.2, 10000.0, Dtype::float64) > 30.0);
  moments.mean(1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(lessons::error_of_mean(moments.mean, weights, 0.2, 10000.0, Dtype::float64)));
}

TEST_CASE("no sample and a p that is no probability below 1 are refused", "[training]") {
  RandomState random(42);
  const Tensor<1> weights = {1.0};
  CHECK_THROWS_AS(lessons::dropout_moments(random, weights, 0.5, 0), std::invalid_argument);
  CHECK_THROWS_AS(lessons::dropout_moments(random, weights, 1.0, 1), std::invalid_argument);
}

TEST_CASE("a weight that has become 0 keeps its mean, and one that comes back does not", "[training]") {
  const Tensor<1> weights = {1.0, 0.0, 1e-320};
  CHECK(lessons::error_of_mean(weights, weights, 0.1, 4096.0, Dtype::float64) == 0.0);
  CHECK(std::isinf(lessons::error_of_mean({1.0, 1e-9, 0.0}, weights, 0.1, 4096.0, Dtype::float64)));
}

TEST_CASE("one huge score leaves the other weights 0, and the claims hold", "[training]") {
  const double score = GENERATE(700.0, 740.0, 1e4, 1e300);
  const auto told = told_by("training", usual(), given_tensor("dropout/scores", {6}, {score, 0, 0, 0, 0, 0}));
  CHECK(all_hold(told));
  CHECK(told.has("dropout-keeps-the-mean"));
}

TEST_CASE("gradients that are all 0 have no direction, and nothing is claimed about it", "[training]") {
  const auto told =
      told_by("training", usual(), given_tensor("clipping/gradients", {6, 4}, std::vector<double>(24, 0.0)));
  CHECK(all_hold(told));
  CHECK(told.has("clipping/no-direction"));
  CHECK_FALSE(told.has("clipping/cosine_by_value"));
  CHECK_FALSE(told.has("clipped-keeps-its-direction"));
}

TEST_CASE("where all parameters are 0 the first gradient is not checked", "[training]") {
  const auto plain = told_by("training", usual());
  attn::GivenTensors given;
  for (const auto* id : {"E", "P", "W_Q", "W_K", "W_V", "W_out"}) {
    const auto shape = plain.tensors.at(id).shape();
    given.merge(given_tensor(id, shape, std::vector<double>(attn::element_count(shape), 0.0)));
  }
  const auto told = told_by("training", usual(), given);
  CHECK(all_hold(told));
  CHECK(told.kinds.at("first-gradient") == attn::Kind::note);
  CHECK(plain.kinds.at("first-gradient") == attn::Kind::claim);
}

TEST_CASE("a loss that is infinite is not held against differences", "[training]") {
  auto W_out = told_by("training", usual()).elements("W_out");
  for (double& number : W_out) number *= 1e6;
  const auto told =
      told_by("training", usual(),
              given_tensor("W_out", told_by("training", usual()).tensors.at("W_out").shape(), W_out));
  CHECK(told.kinds.at("first-gradient") == attn::Kind::note);
}

TEST_CASE("parameters whose products overflow are refused, what is not multiplied is not", "[training]") {
  const auto plain = told_by("training", usual());
  auto E = plain.elements("E");
  E[0] = 1e160;
  CHECK_THROWS_WITH(told_by("training", usual(), given_tensor("E", plain.tensors.at("E").shape(), E)),
                    Contains("E in --input has 1e+160") && Contains("valid: numbers up to 1e+30"));
}

TEST_CASE("tiny and huge gradients have a direction", "[training]") {
  std::vector<double> gradients(24, 0.0);
  gradients[0] = GENERATE(1e-200, 1e-310, 1e200);
  gradients[5] = gradients[0] / 2.0;
  const auto told = told_by("training", usual(), given_tensor("clipping/gradients", {6, 4}, gradients));
  CHECK(all_hold(told));
  CHECK(told.has("clipped-keeps-its-direction"));
  CHECK_FALSE(has_nan(told, "clipping/cosine_by_value"));
}

TEST_CASE("layers in which everything vanishes have no standard error, not NaN", "[training]") {
  auto options = usual();
  options.d_model = 1;
  options.layers = 3000;
  const auto told = told_by("training", options);
  CHECK_FALSE(has_nan(told, "initialisation/xavier/standard_error"));
  CHECK(all_hold(told));
}

TEST_CASE("a clipped gradient that is off by 1 % is noticed", "[training]") {
  CHECK_FALSE(told_by("training", usual(), {}, one_percent_more("clipping/clipped"))
                  .holds("clipped-is-short-enough"));
}

TEST_CASE("the first gradient is claimed of no probability that has lost its digits", "[training]") {
  const auto plain = told_by("training", usual());
  auto numbers = plain.elements("W_out");
  const double size = GENERATE(1.0, 10.0, 1e3, 1e6);
  CAPTURE(size);
  for (double& number : numbers) number *= size;
  const auto told =
      told_by("training", usual(), given_tensor("W_out", plain.tensors.at("W_out").shape(), numbers));
  CHECK(told.kinds.at("first-gradient") == (size <= 10.0 ? attn::Kind::claim : attn::Kind::note));
  if (size <= 10.0) CHECK(told.holds("first-gradient"));
}

#include "lessons/training.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

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

lessons::Options usual() {
  return lesson_called("training").defaults;
}

bool claims_of_training_hold(const Listener& told) {
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

TEST_CASE("layers of another width are refused with both shapes", "[training]") {
  const auto x = random_tensor<2>({2, 3}, 1);
  CHECK_THROWS_AS(lessons::variance_through_layers(x, unit_layers(1, 4), 1.0, Between::nothing),
                  std::invalid_argument);
  CHECK_THROWS_WITH(lessons::variance_through_layers(x, unit_layers(1, 4), 1.0, Between::nothing),
                    Contains("2×3") && Contains("1×4×4"));
}

TEST_CASE("one huge score leaves the other weights 0, and the claims hold", "[training]") {
  const double score = GENERATE(700.0, 740.0, 1e4, 1e30);
  const auto told = told_by("training", usual(), given_tensor("dropout/scores", {6}, {score, 0, 0, 0, 0, 0}));
  CHECK(claims_of_training_hold(told));
  CHECK(told.has("dropout-keeps-the-mean"));
}

TEST_CASE("gradients that are all 0 have no direction, and nothing is claimed about it", "[training]") {
  const auto told =
      told_by("training", usual(), given_tensor("clipping/gradients", {6, 4}, std::vector<double>(24, 0.0)));
  CHECK(claims_of_training_hold(told));
  CHECK(told.has("clipping/no-direction"));
  CHECK(told.elements("clipping/cosine_by_value") == std::vector<double>{1.0});
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
  CHECK(claims_of_training_hold(told));
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
  gradients[0] = GENERATE(1e-100, 1e30);
  gradients[5] = gradients[0] / 2.0;
  const auto told = told_by("training", usual(), given_tensor("clipping/gradients", {6, 4}, gradients));
  CHECK(claims_of_training_hold(told));
  CHECK(told.has("clipped-keeps-its-direction"));
  CHECK_FALSE(has_nan(told, "clipping/cosine_by_value"));
}

TEST_CASE("layers in which everything vanishes have no standard error, not NaN", "[training]") {
  auto options = usual();
  options.d_model = 1;
  options.layers = 3000;
  const auto told = told_by("training", options);
  CHECK_FALSE(has_nan(told, "initialisation/xavier/standard_error"));
  CHECK(claims_of_training_hold(told));
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

TEST_CASE("the first step of Adam moves every number by the rate, whatever its gradient", "[training]") {
  const auto told = told_by("training", usual());
  const auto before = told.elements("W_out"), after = told.elements("first_step/updated");
  const auto gradient = told.elements("first_step/d_W_out");
  const double rate = std::pow(64.0, -0.5) * std::pow(4.0, -1.5);
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(before[i] - after[i] == Approx(gradient[i] > 0.0 ? rate : -rate).epsilon(1e-3));
}

TEST_CASE("without Adam a rate may be right, or so large that the loss is infinite", "[training]") {
  const auto told = told_by("training", usual());
  const auto& table = told.formulas.at("rates");
  CHECK_THAT(table, Contains("rate 1 ") && Contains("  0.00\n"));
  CHECK_THAT(table, Contains("rate 3") && Contains("inf") && !Contains("nan"));
}

TEST_CASE("no gradient that is used is longer than max_norm, and without a limit none is changed",
          "[training]") {
  auto options = usual();
  const auto clipped = told_by("training", options).elements("gradient_norm");
  const auto half = clipped.begin() + static_cast<std::ptrdiff_t>(clipped.size() / 2);
  CHECK(*std::max_element(clipped.begin(), half) > 0.2);
  CHECK(*std::max_element(half, clipped.end()) <= 0.2);
  options.max_norm = 1e6;
  const auto free = told_by("training", options).elements("gradient_norm");
  CHECK(std::equal(free.begin(), free.begin() + 80, free.begin() + 80, free.end()));
}

TEST_CASE("each step of a training drops other weights out", "[training]") {
  auto options = usual();
  options.warmup = 1'000'000'000;  // so that the parameters hardly move
  const auto told = told_by("training", options);
  const auto losses = told.elements("losses");       // main, no warm-up, dropout
  const auto distance = [&](std::size_t training) {  // the same batch comes round after 8 steps
    return std::abs(losses[training * 80 + 8] - losses[training * 80]);
  };
  CHECK(distance(0) < 1e-6);
  CHECK(distance(2) > 1e-4);
}

TEST_CASE("the rate rises in a straight line, peaks at the end of the warm-up and falls with the root",
          "[training]") {
  auto options = usual();
  options.d_model = 16;
  options.warmup = 4000;
  const auto told = told_by("training", options);
  const auto steps = told.elements("schedule/step"), rates = told.elements("schedule/rate");
  const double peak = 1.0 / std::sqrt(16.0 * 4000.0);
  for (std::size_t i = 0; i < steps.size(); ++i)
    CHECK(rates[i] ==
          Approx(steps[i] < 4000.0 ? peak * steps[i] / 4000.0 : peak * std::sqrt(4000.0 / steps[i]))
              .epsilon(1e-14));
}

TEST_CASE("the model learns its task from any seed", "[training][thorough]") {
  const auto seed = GENERATE(range(1U, 6U));
  auto options = usual();
  options.seed = seed;
  const auto told = told_by("training", options);
  for (const auto* claim :
       {"first-gradient", "never-longer-than-max-norm", "learns", "right-on-fresh", "looks-at-the-mirror"})
    CHECK(told.holds(claim));
}

TEST_CASE("attention after training is that of a model that is used: nothing is dropped out", "[training]") {
  const auto told = told_by("training", usual());
  CHECK(told.has("after/weights"));
  CHECK_FALSE(told.has("after/dropped"));
  const auto weights = told.elements("after/weights");
  for (std::size_t i = 0; i < 6; ++i) CHECK(weights[i * 6 + 5 - i] > 0.5);
}

TEST_CASE("nothing is promised of a training with other settings or inputs", "[training]") {
  auto options = usual();
  options.warmup = 4000;
  const auto slow = told_by("training", options);
  CHECK_FALSE(slow.has("learns"));
  CHECK(slow.has("no-promise"));
  const std::vector<double> zeros(7 * 64, 0.0);
  const auto given = told_by("training", usual(), given_tensor("E", {7, 64}, zeros));
  CHECK_FALSE(given.has("learns"));
  CHECK(given.holds("never-longer-than-max-norm"));
}

TEST_CASE("a symbol that there is not is refused", "[training]") {
  CHECK_THROWS_WITH(told_by("training", usual(), given_tensor("shown", {6}, {0, 1, 2, 3, 4, 7})),
                    Contains("7") && Contains("valid: 0 to 6"));
}

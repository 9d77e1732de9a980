#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/lessons/page.hpp"

using Catch::Contains;

namespace {

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

TEST_CASE("Xavier keeps the variance, He doubles it and keeps it with ReLU", "[training]") {
  auto options = usual();
  options.d_model = 200;
  options.layers = 5;
  const auto told = told_by("training", options);
  const auto growth = [&](const std::string& which) {
    const auto variance = told.elements("initialisation/" + which + "/variance");
    REQUIRE(variance.size() == 6);
    CHECK(variance[0] == Approx(1.0).margin(0.05));
    return variance[5] / variance[1];
  };
  CHECK(growth("xavier") == Approx(1.0).margin(0.2));
  CHECK(growth("he") == Approx(16.0).margin(3.2));
  CHECK(growth("0.02") == Approx(std::pow(200 * 0.02 * 0.02, 4)).epsilon(0.2));
  CHECK(growth("relu/he") == Approx(1.0).margin(0.3));
  CHECK(growth("relu/xavier") == Approx(0.0625).margin(0.02));
  const auto relu = told.elements("initialisation/relu/he/variance");
  CHECK(relu[1] == Approx(told.elements("initialisation/he/variance")[1]));  // ReLU acts between the layers
}

TEST_CASE("the standard error is how far the ratio of two layers strays from 1", "[training]") {
  auto options = usual();
  options.d_model = 24;
  options.layers = 400;
  const auto told = told_by("training", options);
  const auto variance = told.elements("initialisation/xavier/variance");
  const auto standard_error = told.elements("initialisation/xavier/standard_error");
  double sum_of_squares = 0.0;
  for (std::size_t layer = 1; layer <= 400; ++layer)
    sum_of_squares += std::pow((variance[layer] / variance[layer - 1] - 1.0) / standard_error[layer], 2);
  CHECK(std::sqrt(sum_of_squares / 400.0) == Approx(1.0).margin(0.15));
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
  const auto& table = told.formulas.at("comparison");
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

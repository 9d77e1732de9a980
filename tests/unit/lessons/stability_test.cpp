#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Dtype;
using attn::Tensor;

namespace {

lessons::Options four_keys(const std::string& dtype = "float64") {
  return {.sentence = {"a b c d"}, .dtype = dtype};
}

/// The lesson on these scores, [4×4].
Listener told_with(const Tensor<2>& scores, const std::string& dtype = "float64") {
  return told_by("stability", four_keys(dtype), given_tensor("scores", {4, 4}, elements(scores)));
}

/// Scores whose largest is well beyond the range of exp in float64, and two rows that are not.
Tensor<2> large_scores() {
  return {{1000.0, 999.0, -1000.0, 0.0}, {-5000.0, -5001.0, -5000.0, -9000.0}, {1, 2, 3, 4}, {0, 0, 0, 0}};
}

bool are_halves(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](double x) { return attn::round_to(Dtype::float16, x) == x; });
}

/// Four rows with the score `largest` in them.
attn::GivenTensors with_score(double largest) {
  return given_tensor("scores", {4, 4}, {largest, 1, 2, 3, 1, 2, 3, 4, largest, 0, 1, 2, 0, 0, 0, largest});
}

bool claims_of_stability_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& one) { return one.second.holds(); });
}

}  // namespace

TEST_CASE("for small scores both forms are softmax", "[stability]") {
  const auto scores = random_tensor<2>({4, 4}, 1);
  const auto told = told_with(scores);
  const auto weights = elements(attn::softmax(scores));
  for (const std::string form : {"naive", "stable"})
    for (std::size_t i = 0; i < weights.size(); ++i)
      CHECK(told.elements(form + "/weights")[i] == Approx(weights[i]).epsilon(1e-14));
}

TEST_CASE("large scores break the naive form and not the stable one", "[stability]") {
  const auto told = told_with(large_scores());
  CHECK(std::isinf(told.elements("naive/exp")[0]));
  CHECK(std::isinf(told.elements("naive/sum")[0]));
  CHECK(std::isnan(told.elements("naive/weights")[0]));
  CHECK(told.elements("naive/weights")[2] == 0);
  CHECK(told.elements("naive/sum")[1] == 0);
  CHECK(std::isnan(told.elements("naive/weights")[4]));
  CHECK(std::isinf(told.elements("logsumexp/naive")[0]));

  const auto weights = elements(attn::softmax(large_scores()));
  for (std::size_t i = 0; i < weights.size(); ++i)
    CHECK(told.elements("stable/weights")[i] == Approx(weights[i]).epsilon(1e-14));
  CHECK(told.elements("logsumexp/stable")[0] == Approx(1000.0 + std::log1p(std::exp(-1.0))).epsilon(1e-7));
  CHECK(told.elements("stable/max")[1] == -5000);
  CHECK(told.elements("stable/shifted")[5] == -1);
  CHECK(told.holds("stable-never-overflows"));
  CHECK(told.holds("naive-overflows-as-predicted"));
}

TEST_CASE("the logarithm of a weight is finite where the weight is not to be seen", "[stability]") {
  const auto told = told_with(large_scores());
  CHECK(told.elements("stable/weights")[2] == 0);
  CHECK(told.elements("logsumexp/log_of_weights")[2] == -std::numeric_limits<double>::infinity());
  CHECK(told.elements("logsumexp/log_weights")[2] == Approx(-2000.3132617).epsilon(1e-7));
  CHECK(std::exp(told.elements("logsumexp/log_weights")[4]) == Approx(told.elements("stable/weights")[4]));
}

TEST_CASE("a narrower format overflows earlier, and all of its numbers are of it", "[stability]") {
  const Tensor<2> scores = {{12, 1, -20, 0}, {11, 11, 0, 0}, {0.1, 0.2, 0.3, 0.4}, {-30, 2, 1, 0}};
  const auto told = told_with(scores);
  CHECK(std::isinf(told.elements("float16/naive/exp")[0]));
  CHECK(told.elements("float16/naive/exp")[2] == 0);
  CHECK(std::isfinite(told.elements("naive/exp")[0]));
  CHECK(std::isfinite(told.elements("float16/naive/exp")[4]));
  CHECK(std::isinf(told.elements("float16/naive/sum")[1]));  // where none of its terms is
  for (const std::string step : {"float16/scores", "float16/stable/shifted", "float16/stable/weights"}) {
    CAPTURE(step);
    CHECK(are_halves(told.elements(step)));
    CHECK_FALSE(are_halves(told.elements(step.substr(8))));
  }
  const auto half = told_with(scores, "float16");
  for (const std::string step : {"scores", "stable/shifted", "stable/weights"})
    CHECK(half.elements(step) == told.elements("float16/" + step));
  for (const std::string step : {"stable/exp", "stable/sum", "logsumexp/stable", "logsumexp/log_weights"})
    CHECK(are_halves(half.elements(step)));
}

TEST_CASE("float32 among doubles is what float32 is", "[stability]") {
  const auto scores = attn::round_to(Dtype::float32, random_tensor<2>({4, 4}, 3));
  const auto weights = told_with(scores).elements("float32/stable/weights");
  for (std::size_t i = 0; i < 4; ++i) {
    const auto single = [&](std::size_t j) { return static_cast<float>(scores(i, j)); };
    const float largest = std::max({single(0), single(1), single(2), single(3)});
    float sum = 0.0F;
    for (std::size_t j = 0; j < 4; ++j) sum += std::exp(single(j) - largest);
    for (std::size_t j = 0; j < 4; ++j)
      CHECK(weights[4 * i + j] ==
            Approx(static_cast<double>(std::exp(single(j) - largest) / sum)).epsilon(1e-6));
  }
}

TEST_CASE("scores beyond exp's range break no claim: the two forms are not compared", "[stability]") {
  const double score = GENERATE(800.0, -800.0, 70000.0, -70000.0, 1e6, 1e308);
  const auto told = told_by("stability", four_keys(), with_score(score));
  CAPTURE(score);
  CHECK(claims_of_stability_hold(told));
  CHECK(told.has("forms-agree") == (score < 0));
  CHECK(told.has("forms-not-compared") == (score > 0));
}

TEST_CASE("scores beyond half precision are not claimed about there", "[stability]") {
  const auto told = told_by("stability", four_keys(), with_score(70000.0));
  CHECK(told.has("scores-beyond-format"));
  CHECK(told.has("fills-not-claimed"));
  CHECK_FALSE(told.has("hidden-gets-nothing"));
  CHECK(told.has("stable-never-overflows"));
  const auto usual = told_by("stability", four_keys());
  CHECK_FALSE(usual.has("scores-beyond-format"));
  CHECK_FALSE(usual.has("fills-not-claimed"));
}

TEST_CASE("a run shows the formats that are narrower than its own", "[stability]") {
  CHECK(told_by("stability", four_keys()).has("float32/scores"));
  const auto single = told_by("stability", four_keys("float32"));
  CHECK_FALSE(single.has("float32/scores"));
  CHECK(single.has("float16/scores"));
  const auto half = told_by("stability", four_keys("float16"));
  CHECK_FALSE(half.has("float16/scores"));
  CHECK(half.has("float16/added/weights"));
  CHECK_FALSE(half.has("halves-are-halves"));
  const auto brain = told_by("stability", four_keys("bfloat16"));
  CHECK(brain.has("no-halves"));
  CHECK_FALSE(brain.has("float16/mask"));
  CHECK(brain.has("stable/weights"));
}

TEST_CASE("a step of both forms that is off by 1 % is noticed", "[stability]") {
  const auto dtype = GENERATE(as<std::string>(), "float64", "float32");
  const auto holds = [&](const std::string& step, const std::string& claim) {
    CAPTURE(step, claim);
    return told_by("stability", four_keys(dtype), {}, one_percent_more(step)).holds(claim);
  };
  CHECK_FALSE(holds("naive/weights", "forms-agree"));
  CHECK_FALSE(holds("stable/weights", "forms-agree"));
  CHECK_FALSE(holds("stable/weights", "rows-sum-to-1"));
  CHECK_FALSE(holds("logsumexp/log_weights", "log-weights-agree"));
  CHECK_FALSE(holds("logsumexp/stable", "logsumexp-is-a-soft-maximum"));
  CHECK_FALSE(holds("float16/stable/weights", "halves-are-halves"));
}

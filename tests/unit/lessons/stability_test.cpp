#include "lessons/stability.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Dtype;
using attn::Tensor;

namespace {

/// How closely the two forms agree where neither overflows.
constexpr double tolerance = 1e-15;

lessons::NaiveSoftmax naive_softmax(const Tensor<2>& scores, Dtype format = Dtype::float64) {
  Page page("stability", {.sentence = {"a b c d"}});
  return lessons::naive_softmax(page.mute, scores, format);
}

lessons::StableSoftmax stable_softmax(const Tensor<2>& scores, Dtype format = Dtype::float64) {
  Page page("stability", {.sentence = {"a b c d"}});
  return lessons::stable_softmax(page.mute, scores, format);
}

lessons::LogSumExp log_sum_exp(const Tensor<2>& scores, Dtype format = Dtype::float64) {
  Page page("stability", {.sentence = {"a b c d"}});
  return lessons::log_sum_exp(page.mute, lessons::naive_softmax(page.mute, scores, format),
                              lessons::stable_softmax(page.mute, scores, format), format);
}

/// Scores whose largest is well beyond the range of exp in float64.
Tensor<2> large_scores() {
  return {{1000.0, 999.0, -1000.0}, {-5000.0, -5001.0, -5000.0}};
}

template <std::size_t N>
bool holds_halves_only(const Tensor<N>& x) {
  return attn::max_abs_difference(attn::round_to(Dtype::float16, x), x) == 0.0;
}

}  // namespace

TEST_CASE("for small scores both forms are softmax", "[stability]") {
  const auto scores = random_tensor<2>({3, 5}, 1);
  const auto weights = attn::softmax(scores);
  CHECK(attn::max_abs_difference(naive_softmax(scores).weights, weights) <= tolerance);
  CHECK(attn::max_abs_difference(stable_softmax(scores).weights, weights) <= tolerance);
}

TEST_CASE("large scores break the naive form and not the stable one", "[stability]") {
  const auto scores = large_scores();
  const auto naive = naive_softmax(scores);
  CHECK(std::isinf(naive.exp(0, 0)));
  CHECK(std::isinf(naive.sum(0)));
  CHECK(std::isnan(naive.weights(0, 0)));
  CHECK(naive.weights(0, 2) == 0);
  CHECK(naive.sum(1) == 0);
  CHECK(std::isnan(naive.weights(1, 0)));
  CHECK(std::isinf(log_sum_exp(scores).naive(0)));

  const auto stable = stable_softmax(scores);
  CHECK(attn::count_non_finite(stable.weights) == 0);
  CHECK(attn::max_abs_difference(stable.weights, attn::softmax(scores)) <= tolerance);
  CHECK(log_sum_exp(scores).stable(0) == Approx(1000.0 + std::log1p(std::exp(-1.0))).epsilon(1e-7));
  CHECK(stable.max(1) == -5000);
  CHECK(stable.shifted(1, 1) == -1);
}

TEST_CASE("the logarithm of a weight is finite where the weight is not to be seen", "[stability]") {
  const auto stable = stable_softmax(large_scores());
  const auto logarithms = log_sum_exp(large_scores());
  CHECK(stable.weights(0, 2) == 0);
  CHECK(logarithms.log_of_weights(0, 2) == -std::numeric_limits<double>::infinity());
  CHECK(logarithms.log_weights(0, 2) == Approx(-2000.3132617).epsilon(1e-7));
  CHECK(std::exp(logarithms.log_weights(1, 0)) == Approx(stable.weights(1, 0)));
}

TEST_CASE("a narrower format overflows earlier, and all of its numbers are of it", "[stability]") {
  const Tensor<2> scores = {{12, 1, -20}};
  const auto naive = naive_softmax(scores, Dtype::float16);
  CHECK(std::isinf(naive.exp(0, 0)));
  CHECK(naive.exp(0, 2) == 0);
  CHECK(std::isfinite(naive_softmax(scores).exp(0, 0)));
  const auto stable = stable_softmax(scores, Dtype::float16);
  CHECK(holds_halves_only(stable.exp));
  CHECK(holds_halves_only(stable.sum));
  CHECK(holds_halves_only(stable.weights));
  CHECK(holds_halves_only(log_sum_exp(scores, Dtype::float16).stable));
  CHECK(holds_halves_only(log_sum_exp(scores, Dtype::float16).log_weights));
  CHECK_FALSE(holds_halves_only(stable_softmax(scores).exp));
}

TEST_CASE("a sum overflows half precision where none of its terms does", "[stability]") {
  const auto naive = naive_softmax(Tensor<2>{{11.0, 11.0}}, Dtype::float16);
  CHECK(std::isfinite(naive.exp(0, 0)));
  CHECK(std::isinf(naive.sum(0)));
  CHECK((naive.weights == Tensor<2>{{0.0, 0.0}}));
}

TEST_CASE("float32 among doubles is what float32 is", "[stability]") {
  const auto scores = attn::round_to(Dtype::float32, random_tensor<2>({2, 4}, 3));
  const auto stable = stable_softmax(scores, Dtype::float32);
  for (std::size_t i = 0; i < 2; ++i) {
    const float largest = static_cast<float>(stable.max(i));
    float sum = 0.0F;
    for (std::size_t j = 0; j < 4; ++j) sum += std::exp(static_cast<float>(scores(i, j)) - largest);
    for (std::size_t j = 0; j < 4; ++j) {
      const float weight = std::exp(static_cast<float>(scores(i, j)) - largest) / sum;
      CHECK(stable.weights(i, j) == Approx(static_cast<double>(weight)).epsilon(1e-6));
    }
  }
  CHECK(attn::max_abs_difference(attn::round_to(Dtype::float32, stable.weights), stable.weights) == 0.0);
}

TEST_CASE("a row without a key is NaN, as in NumPy", "[stability]") {
  const double hidden = -std::numeric_limits<double>::infinity();
  const auto stable = stable_softmax(Tensor<2>{{hidden, hidden}, {hidden, 1.0}});
  CHECK(std::isnan(stable.weights(0, 0)));
  CHECK(stable.weights(1, 1) == 1.0);
}

TEST_CASE("log-sum-exp is a soft maximum, and a wrong one is not", "[stability]") {
  const auto scores = random_tensor<2>({4, 6}, 2);
  const auto max = stable_softmax(scores).max, right = log_sum_exp(scores).stable;
  CHECK(lessons::distance_from_soft_maximum(right, max, 6) == 0.0);
  auto low = right, high = right, broken = right;
  low(2) = max(2) - 0.5;
  CHECK(lessons::distance_from_soft_maximum(low, max, 6) == Approx(0.5));
  high(3) = max(3) + 2.0;
  CHECK(lessons::distance_from_soft_maximum(high, max, 6) == Approx(2.0 - std::log(6.0)));
  broken(0) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(lessons::distance_from_soft_maximum(broken, max, 6)));
}

TEST_CASE("an overflow that is not foreseen, or does not come, is counted", "[stability]") {
  const Tensor<2> scores = {{1.0, 12.0}, {11.0, 11.1}};
  const auto unforeseen = [&](const Tensor<2>& exponentials) {
    return lessons::count_unforeseen(scores, exponentials, Dtype::float16);
  };
  CHECK(unforeseen({{2.7, std::numeric_limits<double>::infinity()},
                    {59872.0, std::numeric_limits<double>::infinity()}}) == 0);
  CHECK(unforeseen({{2.7, 65504.0}, {59872.0, std::numeric_limits<double>::infinity()}}) == 1);
  CHECK(unforeseen({{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()},
                    {std::numeric_limits<double>::infinity(), 1.0}}) == 3);
  CHECK_THROWS_AS(unforeseen({{1.0}}), std::invalid_argument);
  CHECK_THROWS_WITH(unforeseen({{1.0, 2.0}}), Catch::Contains("2×2") && Catch::Contains("1×2"));
}

namespace {

lessons::Options four_keys(const std::string& dtype = "float64") {
  return {.sentence = {"a b c d"}, .dtype = dtype};
}

/// Four rows with the score `largest` in them.
attn::GivenTensors with_score(double largest) {
  return given_tensor("scores", {4, 4}, {largest, 1, 2, 3, 1, 2, 3, 4, largest, 0, 1, 2, 0, 0, 0, largest});
}

bool all_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& one) { return one.second.holds(); });
}

}  // namespace

TEST_CASE("scores beyond exp's range break no claim: the two forms are not compared", "[stability]") {
  const double score = GENERATE(800.0, -800.0, 70000.0, -70000.0, 1e6, 1e308);
  const auto told = told_by("stability", four_keys(), with_score(score));
  CAPTURE(score);
  CHECK(all_hold(told));
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

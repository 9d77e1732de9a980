#include "lessons/patterns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/patterns/heads_of_models.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Integers;
using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using lessons::Spread;

namespace {

Mask<3> everything_visible(std::size_t batch, std::size_t n) {
  return Mask<3>({batch, n, n}, true);
}

Integers<3> first_key(std::size_t batch, std::size_t heads, std::size_t n) {
  return xt::zeros<std::int64_t>({batch, heads, n});
}

struct Ends {
  Tensor<4> uniform, one_hot;
};

Ends ends_of(const Integers<3>& chosen, const Mask<3>& mask) {
  return {lessons::uniform_weights(mask, chosen.shape(1)), lessons::one_hot_weights(chosen, mask.shape(2))};
}

}  // namespace

TEST_CASE("the patterns of a small table are what they are by hand", "[patterns]") {
  const auto half = 0.5, quarter = 0.25;
  const Tensor<4> weights = {{{{half, half, 0}, {quarter, half, quarter}, {0, 0, 1}}}};
  CHECK(lessons::diagonal_share(weights, {3})(0, 0) == Approx(2.0 / 3.0));
  CHECK(lessons::neighbour_share(weights, {3})(0, 0) == Approx((0.5 + 0.25 + 0.25 + 0.0) / 4.0));
  CHECK(lessons::sparse_ratio(weights, {3})(0, 0) == Approx(6.0 / 9.0));
  CHECK(lessons::entropy(weights, {3})(0, 0) == Approx((std::log(2.0) + 1.5 * std::log(2.0)) / 3.0));
  CHECK((lessons::strongest_key(weights) == Integers<3>{{{0, 1, 2}}}));
}

TEST_CASE("each head of each sample has numbers of its own", "[patterns]") {
  auto weights = attn::softmax(random_tensor<4>({2, 3, 4, 4}, 1));
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h) {
      auto one = Tensor<4>::from_shape({1, 1, 4, 4});
      std::copy_n(&weights(b, h, 0, 0), 16, one.begin());
      CHECK(lessons::diagonal_share(one, {4})(0, 0) == lessons::diagonal_share(weights, {4, 4})(b, h));
      CHECK(lessons::neighbour_share(one, {4})(0, 0) == lessons::neighbour_share(weights, {4, 4})(b, h));
      CHECK(lessons::sparse_ratio(one, {4})(0, 0) == lessons::sparse_ratio(weights, {4, 4})(b, h));
      CHECK(lessons::entropy(one, {4})(0, 0) == lessons::entropy(weights, {4, 4})(b, h));
      CHECK(lessons::entropy(one, {4})(0, 0) == Approx(attn::mean_entropy(one)));
      CHECK(lessons::strongest_key(one)(0, 0, 3) == lessons::strongest_key(weights)(b, h, 3));
    }
}

TEST_CASE("padding is left out of the averages", "[patterns]") {
  Tensor<4> weights = xt::zeros<double>({1, 1, 3, 3});
  weights(0, 0, 0, 0) = weights(0, 0, 1, 1) = 1.0;
  weights(0, 0, 2, 0) = weights(0, 0, 2, 1) = 0.5;
  CHECK(lessons::diagonal_share(weights, {2})(0, 0) == 1.0);
  CHECK(lessons::neighbour_share(weights, {2})(0, 0) == 0.0);
  CHECK(lessons::sparse_ratio(weights, {2})(0, 0) == 0.5);
  CHECK(lessons::entropy(weights, {2})(0, 0) == 0.0);
}

TEST_CASE("a single token has no neighbours", "[patterns]") {
  CHECK(lessons::diagonal_share(Tensor<4>{{{{1.0}}}}, {1})(0, 0) == 1.0);
  CHECK(lessons::neighbour_share(Tensor<4>{{{{1.0}}}}, {1})(0, 0) == 0.0);
}

TEST_CASE("0.1 itself is no large weight", "[patterns]") {
  const auto ends = ends_of(first_key(1, 1, 10), everything_visible(1, 10));
  CHECK(lessons::sparse_ratio(ends.uniform, {10})(0, 0) == 0.0);
}

TEST_CASE("of several strongest keys the first is named", "[patterns]") {
  const Tensor<4> weights = {{{{0.2, 0.4, 0.4}, {0.3, 0.3, 0.4}, {0.0, 0.5, 0.5}}}};
  CHECK((lessons::strongest_key(weights) == Integers<3>{{{1, 2, 1}}}));
}

TEST_CASE("equal shares have the entropy ln n, a single key has none", "[patterns]") {
  const std::size_t n = GENERATE(1, 2, 6, 50);
  const auto mask = everything_visible(2, n);
  const auto ends = ends_of(first_key(2, 3, n), mask);
  const auto largest = lessons::largest_entropy(mask, {n, n}, 3);
  CHECK(largest(1, 2) == Approx(std::log(static_cast<double>(n))).margin(1e-12));
  CHECK(attn::max_abs_difference(lessons::entropy(ends.uniform, {n, n}), largest) <= 1e-6);
  CHECK(attn::max_abs(lessons::entropy(ends.one_hot, {n, n})) == 0.0);
  CHECK(attn::row_sum_deviation(ends.uniform) <= 1e-6);
  CHECK(attn::row_sum_deviation(ends.one_hot) == 0.0);
}

TEST_CASE("under a causal mask equal shares have the mean of ln(i + 1)", "[patterns]") {
  const auto mask = attn::repeat_mask(attn::causal_mask(3, 3), 1);
  const auto ends = ends_of(first_key(1, 1, 3), mask);
  CHECK(ends.uniform(0, 0, 0, 1) == 0.0);
  CHECK(ends.uniform(0, 0, 1, 1) == 0.5);
  CHECK(lessons::largest_entropy(mask, {3}, 1)(0, 0) == Approx(std::log(6.0) / 3.0));
  CHECK(lessons::entropy(ends.uniform, {3})(0, 0) == Approx(std::log(6.0) / 3.0));
}

TEST_CASE("the measures are held against equal shares under the same mask", "[patterns]") {
  auto options = lesson_called("patterns").defaults;
  options.sentence = {"the cat sat"};
  options.causal = true;
  CHECK_THAT(told_by("patterns", options).notes.at("diagonal"), Contains("would give 0.6111."));
  CHECK_THAT(told_by("patterns", options).notes.at("local"), Contains("would give 0.2083."));
  CHECK_THAT(told_by("patterns", options).notes.at("entropy"), Contains("would give 0.5973."));
  options.causal = false;
  CHECK_THAT(told_by("patterns", options).notes.at("diagonal"), Contains("would give 1/3 = 0.3333."));
  options.sentence = {"the cat sat", "the cat"};
  CHECK_THAT(told_by("patterns", options).notes.at("diagonal"), Contains("would give 0.3333 to 0.5000."));
}

TEST_CASE("1e-9 inside the logarithm takes up to 1e-9 off for each key and makes one-hot weights negative",
          "[patterns]") {
  const auto ends = ends_of(first_key(1, 1, 4), everything_visible(1, 4));
  CHECK(lessons::entropy_bias(ends.uniform, {4}, 1e-9)(0, 0) == Approx(-4e-9).epsilon(1e-6));
  CHECK(lessons::entropy_bias(ends.one_hot, {4}, 1e-9)(0, 0) == Approx(-1e-9).epsilon(1e-6));
  CHECK(lessons::entropy_bias(ends.uniform, {4}, 0.0)(0, 0) == 0.0);
}

TEST_CASE("spread is judged by its distance from both ends", "[patterns]") {
  const double largest = std::log(6.0);
  CHECK(lessons::spread_of(largest, largest) == Spread::uniform);
  CHECK(lessons::spread_of(largest - 0.04, largest) == Spread::uniform);
  CHECK(lessons::spread_of(largest - 0.06, largest) == Spread::selective);
  CHECK(lessons::spread_of(0.21, largest) == Spread::selective);
  CHECK(lessons::spread_of(0.19, largest) == Spread::over_sparse);
  CHECK(lessons::spread_of(0.0, 0.0) == Spread::undecided);
  CHECK(lessons::spread_of(0.0, 0.04) == Spread::undecided);
  CHECK(lessons::name_of(Spread::over_sparse) == "over-sparse");
  CHECK(lessons::name_of(Spread::undecided) == "undecided");
}

TEST_CASE("heads that are judged to be something else are counted", "[patterns]") {
  const Tensor<2> entropy = {{1.79, 0.9, 0.0}}, largest = {{1.79, 1.79, 1.79}};
  CHECK(lessons::count_misjudged(entropy, largest, Spread::uniform) == 2);
  CHECK(lessons::count_misjudged(largest, largest, Spread::uniform) == 0);
  CHECK(lessons::count_misjudged(largest, largest, Spread::over_sparse) == 3);
  CHECK(lessons::count_misjudged(Tensor<2>{{0.0}}, Tensor<2>{{0.0}}, Spread::uniform) == 0);
  CHECK_THROWS_AS(lessons::count_misjudged(entropy, Tensor<2>{{1.0}}, Spread::uniform),
                  std::invalid_argument);
}

TEST_CASE("weights of one sequence on another, and lengths that do not fit, are refused", "[patterns]") {
  const auto cross = random_tensor<4>({1, 1, 2, 3}, 1), self = random_tensor<4>({2, 1, 3, 3}, 1);
  CHECK_THROWS_WITH(lessons::entropy(cross, {2}), Contains("1×1×2×3") && Contains("as many queries as keys"));
  CHECK_THROWS_WITH(lessons::entropy(self, {3}), Contains("2×1×3×3") && Contains("length"));
  CHECK_THROWS_AS(lessons::entropy(self, {3, 4}), std::invalid_argument);
  CHECK_THROWS_AS(lessons::entropy(self, {3, 0}), std::invalid_argument);
}

namespace {

/// The mask [batch×3×3] with what each sample's queries may see.
attn::GivenTensors mask_of(const std::vector<double>& visible) {
  return given_tensor("mask", {visible.size() / 9, 3, 3}, visible);
}

bool all_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& one) { return one.second.holds(); });
}

}  // namespace

TEST_CASE("masks that show the padding or hide everything break no claim of patterns", "[patterns]") {
  const lessons::Options padded = {.sentence = {"a b c", "d"}};
  const std::vector<double> all(9, 1.0), none(9, 0.0), padding_only = {0, 1, 1, 0, 1, 1, 0, 1, 1};
  for (const auto& second : {all, none, padding_only}) {
    auto visible = all;
    visible.insert(visible.end(), second.begin(), second.end());
    CHECK(all_hold(told_by("patterns", padded, mask_of(visible))));
  }
  CHECK(all_hold(told_by("patterns", {.sentence = {"a b c"}}, mask_of(none))));
}

TEST_CASE("one query with a choice among many without breaks no claim of patterns", "[patterns]") {
  std::vector<double> visible(400, 0.0);
  visible[0] = visible[1] = 1.0;
  const auto told = told_by("patterns", {.sentence = {"a b c d e f g h i j k l m n o p q r s t"}},
                            given_tensor("mask", {20, 20}, visible));
  CHECK(all_hold(told));
}

TEST_CASE("a step of the two ends that is off by 1 % is noticed", "[patterns]") {
  const lessons::Options options = {.sentence = {"a b c d"}};
  const auto holds = [&](const std::string& step, const std::string& claim) {
    return told_by("patterns", options, {}, one_percent_more(step)).holds(claim);
  };
  CHECK_FALSE(holds("uniform/weights", "uniform-entropy"));
  CHECK_FALSE(holds("uniform/entropy", "uniform-entropy"));
  CHECK_FALSE(holds("one_hot/weights", "one-hot-entropy"));
}

namespace {

using lessons::HeadKind;
using lessons::Measure;

/// The measures of a head in which each query gives `share` to the key that it looks at, and the rest in
/// equal parts to the others.
lessons::HeadMeasures measures_of(const std::vector<std::string>& tokens,
                                  const std::function<std::size_t(std::size_t)>& looks_at, double share) {
  const auto n = tokens.size();
  Tensor<4> weights({1, 1, n, n}, (1.0 - share) / static_cast<double>(n - 1));
  for (std::size_t i = 0; i < n; ++i) weights(0, 0, i, looks_at(i)) = share;
  return lessons::measure_head(weights, 0, 0, {tokens, tokens}, std::log(static_cast<double>(n)));
}

const std::vector<std::string> twice = {"a", "b", "c", "d", "a", "b", "c", "d"};

}  // namespace

TEST_CASE("heads that are made for one thing are named after it", "[patterns]") {
  const auto kind = [](const std::function<std::size_t(std::size_t)>& looks_at) {
    return kind_of(measures_of(twice, looks_at, 0.9));
  };
  CHECK(kind([](std::size_t i) { return i; }) == HeadKind::itself);
  CHECK(kind([](std::size_t i) { return i == 0 ? 0 : i - 1; }) == HeadKind::just_before);
  CHECK(kind([](std::size_t i) { return std::min<std::size_t>(i + 1, 7); }) == HeadKind::just_after);
  CHECK(kind([](std::size_t i) { return 7 - i; }) == HeadKind::mirror);
  CHECK(kind([](std::size_t i) { return i < 4 ? i : i - 3; }) == HeadKind::repeat);
  CHECK(kind([](std::size_t) { return 2; }) == HeadKind::one_word);
  CHECK(kind([](std::size_t i) { return std::min<std::size_t>(i + 2, 7); }) == HeadKind::ahead);
}

TEST_CASE("a head that looks nowhere, and one that looks at one key, are told apart from the others",
          "[patterns]") {
  const auto alike = measures_of(
      twice, [](std::size_t i) { return i; }, 1.0 / 8.0);
  CHECK(kind_of(alike) == HeadKind::alike);
  CHECK(alike[Measure::one_key] == Approx(1.0 / 8.0));
  const auto one = measures_of(
      twice, [](std::size_t) { return 2; }, 1.0);
  CHECK(kind_of(one) == HeadKind::one_word);
  CHECK(one.key == 2);
  CHECK(one[Measure::one_key] == 1.0);
  CHECK(one[Measure::entropy] == 0.0);
}

TEST_CASE("the shares of a small table are what they are by hand", "[patterns]") {
  const std::vector<std::string> tokens = {"x", "y", "x"};
  const Tensor<4> weights = {{{{0.5, 0.5, 0}, {0.25, 0.5, 0.25}, {0.125, 0.125, 0.75}}}};
  const auto measures = lessons::measure_head(weights, 0, 0, {tokens, tokens}, std::log(3.0));
  CHECK(measures[Measure::itself] == lessons::diagonal_share(weights, {3})(0, 0));
  CHECK(measures[Measure::entropy] == lessons::entropy(weights, {3})(0, 0));
  CHECK(measures[Measure::before] == Approx((0.0 + 0.25 + 0.25) / 3.0));
  CHECK(measures[Measure::after] == Approx((0.5 + 0.25 + 0.0) / 3.0));
  CHECK(measures[Measure::just_before] == Approx((0.25 + 0.125) / 2.0));
  CHECK(measures[Measure::just_after] == Approx((0.5 + 0.25) / 2.0));
  CHECK((measures[Measure::just_before] + measures[Measure::just_after]) / 2.0 ==
        Approx(lessons::neighbour_share(weights, {3})(0, 0)));
  CHECK(measures[Measure::mirror] == Approx((0.0 + 0.5 + 0.125) / 3.0));
  CHECK(measures[Measure::repeat] == 0.0);  // a single token comes again: no habit shows in one
  CHECK(measures[Measure::linked] == 0.0);
  CHECK(measures[Measure::one_key] == Approx((0.5 + 0.125) / 2.0));
  CHECK(measures.key == 1);
}

TEST_CASE("of a translation the words that each word comes from count, and no places", "[patterns]") {
  const std::vector<std::string> target = {"le", "chat"}, source = {"the", "black", "cat"};
  const Tensor<4> weights = {{{{0.75, 0.25, 0}, {0, 0.5, 0.5}}}};
  const auto measures = lessons::measure_head(weights, 0, 0, {target, source, {{0}, {1, 2}}}, std::log(3.0));
  CHECK(measures[Measure::linked] == Approx((0.75 + 1.0) / 2.0));
  CHECK(measures[Measure::itself] == 0.0);
  CHECK(measures[Measure::one_key] == Approx((0.75 + 0.0) / 2.0));
  CHECK(kind_of(measures) == HeadKind::translation);
}

TEST_CASE("the heads of the shipped models are of the kinds that their tasks ask for", "[patterns]") {
  std::map<std::string, lessons::HeadOfModel> heads;
  for (const auto& head : lessons::heads_of_layers(lessons::layers_of_models())) heads[head.label] = head;
  CHECK(heads.size() == 46);
  const std::map<std::string, HeadKind> expected = {
      {"language 1.0", HeadKind::back},       {"language 2.1", HeadKind::itself},
      {"sentiment.0", HeadKind::one_word},    {"sentiment.1", HeadKind::one_word},
      {"block.0", HeadKind::ahead},           {"block.1", HeadKind::one_word},
      {"reverse", HeadKind::mirror},          {"one layer", HeadKind::back},
      {"induction 1", HeadKind::just_before}, {"induction 2", HeadKind::repeat},
      {"decoder 1.3", HeadKind::back},        {"decoder 2.0", HeadKind::itself},
      {"encoder 1.2", HeadKind::ahead},       {"encoder 2.1", HeadKind::other},
      {"encoder 2.0", HeadKind::alike},       {"decoder 1.0", HeadKind::just_before},
      {"cross 1.0", HeadKind::one_word},      {"cross 2.3", HeadKind::translation}};
  for (const auto& [label, kind] : expected) {
    CAPTURE(label);
    CHECK(heads.at(label).kind == kind);
  }
  CHECK(heads.at("sentiment.1").looks == "one word: never");
}

TEST_CASE("the page has the heads of the models, as data too, where its own are trained", "[patterns]") {
  auto options = lesson_called("patterns").defaults;
  const auto told = told_by("patterns", options);
  CHECK(all_hold(told));
  CHECK(told.elements("models/measures").size() == 46 * lessons::measure_count);
  CHECK_THAT(told.formulas.at("models"), Contains("what came next") && Contains("mirror image"));
  for (const auto* claim : {"models/word-before", "models/what-came-next"})
    CHECK_FALSE(
        told_by("patterns", options, {}, attn::replacing([](const auto& id, const auto& shape, double* x) {
                  if (id == "models/measures") std::fill_n(x, attn::element_count(shape), 0.25);
                }))
            .holds(claim));
  options.model = "none";
  CHECK_FALSE(told_by("patterns", options).has("models/measures"));
}

#include "lessons/patterns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/ops/mask.hpp"
#include "lessons/patterns/heads_of_models.hpp"
#include "tests/unit/lessons/page.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using lessons::Spread;

namespace {

/// The page on these weights of a sentence on itself.
Listener of_weights(const std::string& sentence, const std::vector<double>& weights) {
  const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(weights.size())));
  return told_by("patterns", {.sentence = {sentence}}, given_tensor("weights", {n, n}, weights));
}

}  // namespace

TEST_CASE("the patterns of a small table are what they are by hand", "[patterns]") {
  const auto told = of_weights("a b c", {0.5, 0.5, 0, 0.25, 0.5, 0.25, 0, 0, 1});
  CHECK(told.elements("diagonal")[0] == Approx(2.0 / 3.0));
  CHECK(told.elements("local")[0] == Approx((0.5 + 0.25 + 0.25 + 0.0) / 4.0));
  CHECK(told.elements("sparse_ratio")[0] == Approx(6.0 / 9.0));
  CHECK(told.elements("entropy")[0] == Approx((std::log(2.0) + 1.5 * std::log(2.0)) / 3.0));
}

TEST_CASE("padding is left out of the averages", "[patterns]") {
  const auto told =
      told_by("patterns", {.sentence = {"a b c", "d e"}},
              given_tensor("weights", {2, 3, 3}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0.5, 0.5, 0}));
  CHECK(told.elements("diagonal")[1] == 1.0);
  CHECK(told.elements("local")[1] == 0.0);
  CHECK(told.elements("sparse_ratio")[1] == 0.5);
  CHECK(told.elements("entropy")[1] == 0.0);
}

TEST_CASE("a single token has no neighbours", "[patterns]") {
  const auto told = of_weights("x", {1});
  CHECK(told.elements("diagonal")[0] == 1.0);
  CHECK(told.elements("local")[0] == 0.0);
}

TEST_CASE("0.1 itself is no large weight", "[patterns]") {
  CHECK(of_weights("a b c d e f g h i j", std::vector<double>(100, 0.1)).elements("sparse_ratio")[0] == 0.0);
}

TEST_CASE("of several strongest keys the first is named", "[patterns]") {
  const auto told = of_weights("a b c", {0.2, 0.4, 0.4, 0.3, 0.3, 0.4, 0.0, 0.5, 0.5});
  CHECK((told.elements("strongest") == std::vector<double>{1, 2, 1}));
}

TEST_CASE("under a causal mask the largest entropy is the mean of ln(i + 1)", "[patterns]") {
  const auto mask = attn::repeat_mask(attn::causal_mask(3, 3), 1);
  CHECK(lessons::largest_entropy(mask) == Approx(std::log(6.0) / 3.0));
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
  const auto equal = of_weights("a b c d", std::vector<double>(16, 0.25));
  CHECK(equal.elements("entropy_bias")[0] == Approx(-4e-9).epsilon(1e-6));
  const auto one_hot = of_weights("x y", {1, 0, 1, 0});
  CHECK(one_hot.elements("entropy_bias")[0] == Approx(-1e-9).epsilon(1e-6));
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
  CHECK(lessons::word_for(Spread::over_sparse) == "sharp");
  CHECK(lessons::word_for(Spread::undecided) == "undecided");
}

namespace {

/// The mask [batch×3×3] with what each sample's queries may see.
attn::GivenTensors mask_of(const std::vector<double>& visible) {
  return given_tensor("mask", {visible.size() / 9, 3, 3}, visible);
}

bool claims_of_patterns_hold(const Listener& told) {
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
    CHECK(claims_of_patterns_hold(told_by("patterns", padded, mask_of(visible))));
  }
  CHECK(claims_of_patterns_hold(told_by("patterns", {.sentence = {"a b c"}}, mask_of(none))));
}

TEST_CASE("one query with a choice among many without breaks no claim of patterns", "[patterns]") {
  std::vector<double> visible(400, 0.0);
  visible[0] = visible[1] = 1.0;
  const auto told = told_by("patterns", {.sentence = {"a b c d e f g h i j k l m n o p q r s t"}},
                            given_tensor("mask", {20, 20}, visible));
  CHECK(claims_of_patterns_hold(told));
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
  CHECK(measures[Measure::itself] == Approx((0.5 + 0.5 + 0.75) / 3.0));
  CHECK(measures[Measure::before] == Approx((0.0 + 0.25 + 0.25) / 3.0));
  CHECK(measures[Measure::after] == Approx((0.5 + 0.25 + 0.0) / 3.0));
  CHECK(measures[Measure::just_before] == Approx((0.25 + 0.125) / 2.0));
  CHECK(measures[Measure::just_after] == Approx((0.5 + 0.25) / 2.0));
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
  CHECK(claims_of_patterns_hold(told));
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

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lessons/trained/layers.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/watches.hpp"

using Catch::Contains;
using Catch::EndsWith;

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

/// The kinds of the heads of which each query gives `share` to the key that it looks at, and the rest in
/// equal parts to the others, as the page has them.
std::string kinds_of(const std::function<std::size_t(std::size_t)>& looks_at, double share) {
  constexpr std::size_t n = 8;
  std::vector<double> weights(n * n, (1.0 - share) / (n - 1));
  for (std::size_t i = 0; i < n; ++i) weights[i * n + looks_at(i)] = share;
  return of_weights("a b c d a b c d", weights).formulas.at("kinds");
}

}  // namespace

TEST_CASE("heads that are made for one thing are named after it", "[patterns]") {
  const auto kind = [](const std::function<std::size_t(std::size_t)>& looks_at) {
    return kinds_of(looks_at, 0.9);
  };
  CHECK_THAT(kind([](std::size_t i) { return i; }), EndsWith("  itself"));
  CHECK_THAT(kind([](std::size_t i) { return i == 0 ? 0 : i - 1; }), EndsWith("  word before"));
  CHECK_THAT(kind([](std::size_t i) { return std::min<std::size_t>(i + 1, 7); }), EndsWith("  word after"));
  CHECK_THAT(kind([](std::size_t i) { return 7 - i; }), EndsWith("  mirror image"));
  CHECK_THAT(kind([](std::size_t i) { return i < 4 ? i : i - 3; }), EndsWith("  what came next"));
  CHECK_THAT(kind([](std::size_t) { return 2; }), EndsWith("  one word: c"));
  CHECK_THAT(kind([](std::size_t i) { return std::min<std::size_t>(i + 2, 7); }), Contains("  ahead"));
}

TEST_CASE("a head that looks nowhere, and one that looks at one key, are told apart from the others",
          "[patterns]") {
  CHECK_THAT(kinds_of([](std::size_t i) { return i; }, 1.0 / 8.0), EndsWith("  all alike"));
  CHECK_THAT(kinds_of([](std::size_t) { return 2; }, 1.0), EndsWith("  one word: c"));
}

TEST_CASE("the shares of a small table are what they are by hand", "[patterns]") {
  const auto kinds =
      of_weights("x y x", {0.5, 0.5, 0, 0.25, 0.5, 0.25, 0.125, 0.125, 0.75}).formulas.at("kinds");
  CHECK_THAT(kinds, Contains("  0.58    0.17   0.25 "));
}

TEST_CASE("the heads of the shipped models are of the kinds that their tasks ask for", "[patterns]") {
  const auto told = told_by("patterns", lesson_called("patterns").defaults);
  const auto& heads = told.formulas.at("models/kinds");
  const std::map<std::string, std::string> expected = {{"language 1.0", "back"},
                                                       {"language 2.1", "itself"},
                                                       {"sentiment.0", "one word: boring"},
                                                       {"block.0", "ahead"},
                                                       {"block.1", "one word: never"},
                                                       {"sentiment.1", "one word: never"},
                                                       {"one layer  ", "back"},
                                                       {"induction 1  ", "word before"},
                                                       {"induction 2  ", "what came next"},
                                                       {"decoder 1.3", "back"},
                                                       {"decoder 2.0", "itself"},
                                                       {"encoder 1.2", "ahead"},
                                                       {"encoder 2.1", "each its own"},
                                                       {"encoder 2.0", "all alike"},
                                                       {"decoder 1.0", "word before"},
                                                       {"cross 1.0", "one word: red"},
                                                       {"cross 2.3", "its translation"}};
  for (const auto& [name, kind] : expected) {
    const auto begin = heads.rfind("\n" + name);
    CAPTURE(name);
    REQUIRE(begin != heads.npos);
    CHECK_THAT(heads.substr(begin + 1, heads.find('\n', begin + 1) - begin - 1), EndsWith("  " + kind));
  }
}

TEST_CASE("the measures of a head of a model are what they are by hand", "[patterns]") {
  const auto told = told_by("patterns", lesson_called("patterns").defaults);
  const auto measures = told.elements("models/measures");
  REQUIRE(measures.size() == 46 * 11);
  const auto layers = lessons::layers_of_models();
  const auto induction = std::find_if(layers.begin(), layers.end(),
                                      [](const auto& layer) { return layer.name == "induction 2"; });
  const auto& weights = induction->weights;
  const auto& letters = induction->keys;
  const auto n = letters.size();
  double itself = 0.0, just_before = 0.0, repeat = 0.0, count = 0.0, most = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    itself += weights(0, 0, i, i) / static_cast<double>(n);
    if (i > 0) just_before += weights(0, 0, i, i - 1) / static_cast<double>(n - 1);
    most += std::log(static_cast<double>(i + 1)) / static_cast<double>(n);
    std::size_t last = n;
    for (std::size_t j = 0; j < i; ++j)
      if (letters[j] == letters[i]) last = j;
    if (last == n || last + 1 == i) continue;
    repeat += weights(0, 0, i, last + 1);
    ++count;
  }
  constexpr std::size_t head = 21;
  CHECK(measures[head * 11 + 0] == Approx(itself));
  CHECK(measures[head * 11 + 3] == Approx(just_before));
  CHECK(measures[head * 11 + 4] == Approx(0.0).margin(1e-300));
  CHECK(measures[head * 11 + 6] == Approx(repeat / count));
  CHECK(measures[head * 11 + 7] == 0.0);
  CHECK(measures[head * 11 + 10] == Approx(most));
}

TEST_CASE("of a translation the words that each word comes from count, and no places", "[patterns]") {
  const auto measures = told_by("patterns", lesson_called("patterns").defaults).elements("models/measures");
  const auto layers = lessons::layers_of_models();
  const auto& cross = layers.back();
  double linked = 0.0, words = 0.0;
  for (std::size_t i = 0; i < cross.links.size(); ++i) {
    for (const auto key : cross.links[i]) linked += cross.weights(0, 3, i, key);
    words += cross.links[i].empty() ? 0.0 : 1.0;
  }
  for (std::size_t place = 0; place < 7; ++place) CHECK(measures[45 * 11 + place] == 0.0);
  CHECK(measures[45 * 11 + 7] == Approx(linked / words));
}

TEST_CASE("the page has the heads of the models, as data too, where its own are trained", "[patterns]") {
  auto options = lesson_called("patterns").defaults;
  const auto told = told_by("patterns", options);
  CHECK(claims_of_patterns_hold(told));
  CHECK_THAT(told.formulas.at("models"), Contains("what came next") && Contains("mirror image"));
  CHECK_THAT(told.formulas.at("kinds/pictures"), Contains("a  □ □ □ □ □ □ □ □ □ █  "));
  for (const auto* claim : {"models/word-before", "models/what-came-next"})
    CHECK_FALSE(
        told_by("patterns", options, {}, attn::replacing([](const auto& id, const auto& shape, double* x) {
                  if (id == "models/measures") std::fill_n(x, attn::element_count(shape), 0.25);
                }))
            .holds(claim));
  options.model = "none";
  CHECK_FALSE(told_by("patterns", options).has("models/measures"));
}

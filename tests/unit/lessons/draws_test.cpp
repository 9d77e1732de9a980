#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/error.hpp"
#include "lessons/workbench/workbench.hpp"
#include "tests/unit/lessons/page.hpp"

using lessons::Options;
using nlohmann::json;
using Values = std::vector<double>;

namespace {

Options by_name(Options options) {
  options.draws = "name";
  options.typed.insert("draws");
  return options;
}

/// What a lesson tells, drawn by name.
Listener named(std::string_view lesson, const Options& options) {
  return told_by(lesson, by_name(options));
}

/// The first `count` normal numbers, times `s`, that NumPy draws for that name with seed 42.
Values numpy_draws(const std::string& rng, const std::string& name, std::size_t count, double s = 1.0) {
  static const json fixtures = {{"legacy", json::parse(std::ifstream(ATTN_FIXTURES "/random.json"))},
                                {"pcg64", json::parse(std::ifstream(ATTN_FIXTURES "/generator.json"))}};
  Values values = fixtures.at(rng).at("named").at(name).get<Values>();
  REQUIRE(values.size() >= count);
  values.resize(count);
  for (double& value : values) value *= s;
  return values;
}

/// The numbers of a tensor from `begin` on, `step` apart.
Values part(const Listener& told, const std::string& id, std::size_t begin, std::size_t count,
            std::size_t step = 1) {
  const auto all = told.elements(id);
  Values some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all.at(begin + i * step));
  return some;
}

/// The numbers of `longer` that stand where `shorter` has one, too: tensors that grew along an axis.
Values common_part(const attn::AnyTensor& longer, const attn::Shape& shorter) {
  const auto view = longer.view();
  Values common;
  for (std::size_t i = 0; i < attn::element_count(view.shape); ++i) {
    bool is_common = true;
    std::size_t rest = i;
    for (std::size_t axis = view.shape.size(); axis-- > 0; rest /= view.shape[axis])
      is_common = is_common && rest % view.shape[axis] < shorter[axis];
    if (is_common) common.push_back(view.at(i));
  }
  return common;
}

/// Whatever the two runs start from is equal as far as both have it, but for these ids.
void check_only_grows(const Listener& shorter, const Listener& longer, const std::set<std::string>& but) {
  std::size_t compared = 0;
  for (const auto& [id, tensor] : shorter.tensors) {
    if (shorter.kinds.at(id) != attn::Kind::input || but.count(id) > 0) continue;
    INFO(id);
    REQUIRE(longer.has(id));
    const auto& other = longer.tensors.at(id);
    REQUIRE(other.shape().size() == tensor.shape().size());
    CHECK(common_part(other, tensor.shape()) == shorter.elements(id));
    ++compared;
  }
  CHECK(compared > 0);
}

/// The options of a lesson on these texts: a sentence, or a source and a target.
Options on_texts(const lessons::Lesson& lesson, const std::string& one, const std::string& other) {
  auto options = lesson.defaults;
  options.sentence.clear();
  options.source.clear();
  options.target.clear();
  if (lesson.uses("sentence")) {
    options.sentence = {one};
  } else {
    options.source = {one};
    options.target = {other};
  }
  return options;
}

}  // namespace

TEST_CASE("by name a word's vector and a weight are those that NumPy draws for the name") {
  for (const std::string rng : {"legacy", "pcg64"}) {
    INFO(rng);
    const auto told = named("self-attention", {.sentence = {"the cat café 猫"}, .d_model = 4, .rng = rng});
    CHECK(part(told, "X", 4, 4) == numpy_draws(rng, "token cat", 4));
    CHECK(part(told, "X", 8, 4) == numpy_draws(rng, "token café", 4));
    CHECK(part(told, "X", 12, 4) == numpy_draws(rng, "token 猫", 4));
    CHECK(part(told, "W_Q", 0, 8) == numpy_draws(rng, "W_Q", 8, 0.5));
  }
}

TEST_CASE(
    "by name a row that belongs to a position has the position's name, and its sample's from the second on") {
  const auto told = named("sdpa", {.sentence = {"a b c d", "e f g h"}, .d_k = 3, .d_v = 3});
  CHECK(part(told, "Q", 9, 3) == numpy_draws("legacy", "Q 3", 3));
  CHECK(part(told, "Q", 21, 3) == numpy_draws("legacy", "Q 3 sample 1", 3));
}

TEST_CASE("by name a column that belongs to a word has the word's name") {
  Options options = {.source = {"i love cats"}, .target = {"j'aime les chats"}, .d_model = 2};
  const auto told = named("seq2seq", options);
  const std::size_t fan_in = 4, words = 4;
  CHECK(told.tensors.at("output/W").shape() == attn::Shape{fan_in, words});
  CHECK(part(told, "output/W", 2, fan_in, words) == numpy_draws("legacy", "output/W chats", fan_in, 0.5));
  CHECK(part(told, "output/W", 3, fan_in, words) == numpy_draws("legacy", "output/W </s>", fan_in, 0.5));
}

TEST_CASE("by name a word has the same vector in every lesson, and W_Q the same numbers") {
  const auto one = named("self-attention", {.sentence = {"the cat"}, .seed = 7});
  const auto other = named("cross-attention", {.source = {"a cat"}, .target = {"cat the"}, .seed = 7});
  CHECK(part(one, "X", 8, 8) == part(other, "X_source", 8, 8));
  CHECK(part(one, "X", 8, 8) == part(other, "X_target", 0, 8));
  CHECK(one.elements("W_Q") == other.elements("W_Q"));
  CHECK(one.elements("W_Q") != one.elements("W_K"));
  CHECK(one.elements("W_Q") != named("self-attention", {.sentence = {"the cat"}, .seed = 8}).elements("W_Q"));
}

TEST_CASE("by name one more word changes only what it must") {
  std::size_t lessons_with_words = 0;
  for (const auto* lesson : lessons::all_lessons()) {
    if (!lesson->uses("sentence") && !lesson->uses("source")) continue;
    ++lessons_with_words;
    const auto run = [&](const std::string& one, const std::string& other) {
      return named(lesson->name, on_texts(*lesson, one, other));
    };
    DYNAMIC_SECTION(lesson->name) {
      const auto shorter = run("the cat sat", "le chat");
      // the weights of patterns follow from X; the scale of a learned table follows from how many rows it has
      check_only_grows(shorter, run("the cat sat down", "le chat"), {"weights", "learned/table"});
      if (lesson->uses("sentence")) continue;
      // </s> stays the last word of the vocabulary: its column moves
      check_only_grows(shorter, run("the cat sat", "le chat dort"), {"output/W"});
    }
  }
  CHECK(lessons_with_words > 12);
}

TEST_CASE("by name a row of a learned table stays, but for the scale 1/√n of the table") {
  const auto table = [](const std::string& sentence, double rows) {
    auto numbers = named("positional", {.sentence = {sentence}, .heads = 2}).elements("learned/table");
    numbers.resize(3 * 8);
    for (double& number : numbers) number *= std::sqrt(rows);
    return numbers;
  };
  const auto shorter = table("the cat sat", 3.0), longer = table("the cat sat down", 4.0);
  for (std::size_t i = 0; i < shorter.size(); ++i) CHECK(longer[i] == Approx(shorter[i]).epsilon(1e-12));
}

TEST_CASE("one more word changes the weights when all is drawn from one stream") {
  const auto W_Q = [](const std::string& sentence) {
    return told_by("self-attention", {.sentence = {sentence}}).elements("W_Q");
  };
  CHECK(W_Q("the cat sat") != W_Q("the cat sat down"));
}

TEST_CASE("by name one more sample leaves the others as they are") {
  const auto one = named("sdpa", {.sentence = {"a b c", "d e f"}});
  const auto two = named("sdpa", {.sentence = {"a b c", "d e f", "g h i"}});
  check_only_grows(one, two, {});
}

TEST_CASE("by name a dropout mask is drawn whole, by its id") {
  const Options options = {.sentence = {"a b c"}, .dropout = 0.5};
  const auto told = named("sdpa", options);
  const auto settled = by_name(options);
  lessons::Draws draws(settled);
  auto& random = draws.stream("dropout_mask");
  for (const double kept : told.elements("dropout_mask")) CHECK(kept == (random.bernoulli(0.5) ? 1.0 : 0.0));
}

TEST_CASE("the stream of a name begins anew each time, the one stream goes on") {
  const Options name = {.draws = "name"}, stream = {.draws = "stream"};
  lessons::Draws by_names(name), by_order(stream);
  const double first = by_names.stream("W_Q").normal();
  CHECK(by_names.stream("W_Q").normal() == first);
  const double one = by_order.stream("W_Q").normal();
  CHECK(by_order.stream("W_Q").normal() != one);
}

TEST_CASE(
    "as PyTorch draws them, weights of linear layers are transposed, for the lab multiplies from the right") {
  const Options options = {.sentence = {"a"},
                           .d_model = 3,
                           .d_k = 2,
                           .d_v = 2,
                           .rng = "torch",
                           .draws = "stream",
                           .weight_scale = "linear",
                           .typed = {"rng", "draws"}};
  const auto told = told_by("self-attention", options);
  lessons::Draws draws(options);
  draws.normal("token a", 1.0, {3});
  const auto weight = draws.linear(2, 3);
  const auto W_Q = told.elements("W_Q");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) CHECK(W_Q[i * 2 + j] == weight(j, i));
}

TEST_CASE("with --rng torch all is drawn from one stream, and a typed --draws name is refused") {
  const auto plan_of = [](const Options& options) {
    return lessons::make_plan(lesson_called("self-attention"), options);
  };
  CHECK(plan_of({.rng = "torch"}).options.draws == "stream");
  CHECK(plan_of({}).options.draws == "name");
  CHECK_THROWS_WITH(plan_of({.rng = "torch", .typed = {"draws"}}),
                    Catch::StartsWith("--draws name does not go"));
  CHECK_THROWS_WITH(plan_of({.weight_scale = "linear"}), Catch::Contains("valid: --rng torch"));
}

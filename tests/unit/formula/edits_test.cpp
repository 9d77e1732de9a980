#include "formula/edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "formula/parse.hpp"

namespace formula {

namespace {

View drawn(std::mt19937& random, const Axes& axes, const Numbers::shape_type& shape) {
  std::normal_distribution<double> normal;
  Numbers numbers(shape);
  for (double& number : numbers) number = normal(random);
  return view_of(axes, std::make_shared<const Numbers>(std::move(numbers)));
}

/// Attention of two heads under a causal mask, with more keys than queries.
Sheet attention(std::mt19937& random) {
  Sheet sheet;
  sheet.set("Q", drawn(random, {"batch", "head", "query", "d_k"}, {2, 2, 4, 3}));
  sheet.set("K", drawn(random, {"batch", "head", "key", "d_k"}, {2, 2, 5, 3}));
  sheet.set("V", drawn(random, {"batch", "head", "key", "d_v"}, {2, 2, 5, 2}));
  for (const auto* step :
       {"mask[query, key] = key <= query + 1", "scores[query, key] = sum(d_k) Q * K",
        "scaled[query, key] = scores / sqrt(d_k)", "masked[query, key] = where(mask, scaled, -inf)",
        "weights[query, key] = softmax(key) masked", "output[query, d_v] = sum(key) weights * V",
        "normalized[query, d_v] = layer_norm(d_v) output"})
    sheet.compute(parse_definition(step));
  return sheet;
}

const std::vector<std::string> steps = {"scores", "scaled", "masked", "weights", "output", "normalized"};

}  // namespace

TEST_CASE("What is right has no other formula", "[formula]") {
  std::mt19937 random(1);
  const auto sheet = attention(random);
  for (const auto& step : steps)
    CHECK(formulas_of(sheet, *sheet.definition_of(step), sheet.tensor(step), 1e-9).empty());
}

TEST_CASE("Numbers of a planted edit are those of a formula that is found", "[formula]") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto sheet = attention(random);
  std::size_t planted = 0, found = 0;
  for (const auto& step : steps) {
    const auto& right = *sheet.definition_of(step);
    for (const auto& edit : edits_of(sheet, right)) {
      CAPTURE(text(edit));
      const auto theirs = sheet.value(edit);
      const auto formulas = formulas_of(sheet, right, theirs, 1e-9, 0.5);
      const auto again = formulas.empty() ? theirs : sheet.value(formulas.front());
      planted += 1;
      found += !formulas.empty();
      for (std::size_t q = 0; q < theirs.shape[2]; ++q) {
        const double x = theirs.at({1, 1, q, 1}), y = again.at({1, 1, q, 1});
        const bool is_equal =
            x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) < 1e-8 * std::max(1.0, std::abs(x));
        REQUIRE(is_equal);
      }
    }
  }
  CAPTURE(planted, found);
  CHECK(planted > 300);
  CHECK(found * 100 >= planted * 80);  // some edits change no number
}

TEST_CASE("All operands of another group in the place of those of one are an edit", "[formula]") {
  std::mt19937 random(3);
  Sheet sheet;
  sheet.set("x", drawn(random, {"token", "d"}, {3, 4}));
  for (const auto* name : {"norm_1/gain", "norm_1/bias", "norm_2/gain", "norm_2/bias"})
    sheet.set(name, drawn(random, {"d"}, {4}));
  sheet.compute(parse_definition("y[token, d] = layer_norm(d) x * norm_2/gain + norm_2/bias"));
  const auto& right = *sheet.definition_of("y");
  const auto wrong = sheet.resolved({"y", right.axes, parse("layer_norm(d) x * norm_1/gain + norm_1/bias")});
  const auto formulas = formulas_of(sheet, right, sheet.value(wrong), 1e-9);
  REQUIRE(!formulas.empty());
  CHECK(same(formulas.front().expr, wrong.expr));
}

TEST_CASE("A mistake that is made in a part alone is found with its place", "[formula]") {
  std::mt19937 random(5);
  auto sheet = attention(random);
  for (const auto& [step, wrong, expected] : std::vector<std::array<std::string, 3>>{
           {"output", "where(query = 3, 0, sum(key) weights * V)", "where(query = 3, 0,"},
           {"output", "where(1 <= batch, 0, sum(key) weights * V)", "where(batch = 1, 0,"},
           {"scaled", "where(head = 1, scores, scores / sqrt(d_k))", "where(head = 1, scores["},
           {"masked", "where(batch = 1, scaled, where(mask, scaled, -inf))", "where(batch = 1, scaled["},
           {"scaled", "scores[0 * batch, head, query, key] / sqrt(d_k)", "[0, head"}}) {
    const auto& right = *sheet.definition_of(step);
    const auto edit = sheet.resolved({step, right.axes, parse(wrong)});
    const auto formulas = formulas_of(sheet, right, sheet.value(edit), 1e-9);
    CAPTURE(step, wrong);
    REQUIRE_FALSE(formulas.empty());
    CHECK_THAT(text(formulas.front().expr), Catch::Matchers::Contains(expected));
  }
}

TEST_CASE("A constant that nobody would list is solved for", "[formula]") {
  std::mt19937 random(3);
  auto sheet = attention(random);
  const auto formula_of = [&](const char* step, const char* wrong) {
    auto definition = parse_definition(wrong);
    definition.axes = sheet.definition_of(step)->axes;
    const auto theirs = sheet.value(sheet.resolved(definition));
    const auto formulas = formulas_of(sheet, *sheet.definition_of(step), theirs, 1e-9);
    return formulas.empty() ? std::string() : page_text(formulas.front().expr);
  };
  CHECK(formula_of("scaled", "wrong = scores / 1.7") == "scores / 1.7");
  CHECK(formula_of("scaled", "wrong = scores / size(d_k)") == "scores / d_k");
  CHECK(formula_of("masked", "wrong = where(mask, scaled, -37)") == "scaled where mask, −37 elsewhere");
  CHECK(formula_of("scaled", "wrong = scores / sqrt(d_k) + scores") == "scores / √d_k + scores");
}

TEST_CASE("A constant of the step before is solved for, to a number of few digits", "[formula]") {
  Sheet sheet;
  sheet.axis("position", 12);
  sheet.axis("pair", 4);
  for (const auto* step : {"frequencies[pair] = 10000 ^ (-2 * pair / (2 * size(pair)))",
                           "angles[position, pair] = position * frequencies"})
    sheet.compute(parse_definition(step));
  const auto theirs = sheet.value(sheet.resolved(
      parse_definition("wrong[position, pair] = position * 500000 ^ (-2 * pair / (2 * size(pair)))")));
  const auto formulas = formulas_of(sheet, *sheet.definition_of("angles"), theirs, 1e-9);
  REQUIRE(!formulas.empty());
  CHECK(text(formulas.front().expr) == "position * 500000 ^ (-2 * pair / (2 * size(pair)))");
}

TEST_CASE("A fill of −1e9 hides no other mistake, and one of any size is solved for", "[formula]") {
  std::mt19937 random(4);
  const auto sheet = attention(random);
  const auto& right = *sheet.definition_of("masked");
  auto wrong = right;
  wrong.expr = call("where", {right.expr->parts[0], right.expr->parts[1] + 0.5, -1e9});
  const auto theirs = sheet.value(wrong);
  for (const auto& found : formulas_of(sheet, right, theirs, 1e-9))
    CHECK(std::abs(sheet.value(found).at({0, 0, 0, 0}) - theirs.at({0, 0, 0, 0})) < 1e-8);
  wrong.expr = call("where", {right.expr->parts[0], right.expr->parts[1], -3.4e38});
  CHECK(formulas_of(sheet, right, sheet.value(wrong), 1e-9).size() == 1);
}

TEST_CASE("Formulas in which a mask comes after softmax, and layer norms, are found", "[formula]") {
  std::mt19937 random(5);
  auto sheet = attention(random);
  const auto is_found = [&](const char* step, const char* wrong) {
    auto definition = parse_definition(wrong);
    definition.axes = sheet.definition_of(step)->axes;
    const auto theirs = sheet.value(sheet.resolved(definition));
    return !formulas_of(sheet, *sheet.definition_of(step), theirs, 1e-9).empty();
  };
  CHECK(is_found("weights", "wrong = where(mask, softmax(key) scaled, 0)"));
  CHECK(is_found("weights", "wrong = softmax(key) (scaled * mask)"));
  CHECK(is_found("output", "wrong = sum(key) (softmax(query) masked) * V"));
  CHECK(is_found(
      "normalized",
      "wrong = (output - mean(d_v) output) / sqrt(mean(d_v) (output - mean(d_v) output) ^ 2 + 0.1)"));
  CHECK(is_found("normalized",
                 "wrong = (output - mean(d_v) output) / (mean(d_v) (output - mean(d_v) output) ^ 2 + 1e-5)"));
}

TEST_CASE("A later step stands for no operand of an earlier one", "[formula]") {
  std::mt19937 random(6);
  const auto sheet = attention(random);
  for (const auto& edit : edits_of(sheet, *sheet.definition_of("scaled")))
    for (const auto& operand : operands(edit.expr)) CHECK(operand != "weights");
}

}  // namespace formula

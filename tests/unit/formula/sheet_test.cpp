#include "formula/sheet.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "attn/error.hpp"
#include "formula/parse.hpp"
#include "tests/unit/formula/random_formula.hpp"

namespace formula {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

View matrix(const Axes& axes, const attn::Shape& shape, const std::vector<double>& numbers) {
  auto owned = std::make_shared<Numbers>(Numbers::shape_type(shape.begin(), shape.end()));
  std::copy(numbers.begin(), numbers.end(), owned->begin());
  return view_of(axes, std::shared_ptr<const Numbers>(owned));
}

Sheet two_matrices() {
  Sheet sheet;
  sheet.set("Q", matrix({"batch", "query", "d_k"}, {1, 2, 2}, {1, 2, 3, 4}));
  sheet.set("K", matrix({"batch", "key", "d_k"}, {1, 3, 2}, {1, 0, 0, 1, 1, 1}));
  return sheet;
}

std::vector<double> computed(Sheet& sheet, const char* formula) {
  const auto& view = sheet.compute(parse_definition(formula));
  const auto* numbers = static_cast<const double*>(view.data);
  return {numbers, numbers + attn::element_count(view.shape)};
}

std::string refusal(Sheet& sheet, const char* formula) {
  try {
    sheet.compute(parse_definition(formula));
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("An index that goes over an axis brings no axis along", "[formula]") {
  auto sheet = two_matrices();
  sheet.set("lengths", matrix({"key"}, {3}, {4, 64, 16}));
  CHECK(sheet.resolved(parse_definition("longest = lengths[argmax(key) lengths]")).axes.empty());
  CHECK(computed(sheet, "longest = lengths[argmax(key) lengths]") == std::vector<double>{64});
}

TEST_CASE("A formula's value has the axes that it names, and carries those in front of them", "[formula]") {
  auto sheet = two_matrices();
  CHECK(computed(sheet, "scores[query, key] = sum(d_k) Q * K") == std::vector<double>{1, 2, 3, 3, 4, 7});
  CHECK(sheet.tensor("scores").axes == Axes{"batch", "query", "key"});
  CHECK(computed(sheet, "scaled[query, key] = scores / d_k")[5] == 3.5);
  CHECK(computed(sheet, "mask[query, key] = where(key <= query, 1, 0)") ==
        std::vector<double>{1, 0, 0, 1, 1, 0});
  CHECK(computed(sheet, "masked[query, key] = where(mask, scaled, -inf)")[1] == -infinity);
  const auto weights = computed(sheet, "weights[query, key] = softmax(key) masked");
  CHECK(weights[0] == 1.0);
  CHECK(weights[3] == Approx(1.0 / (1.0 + std::exp(0.5))));
  CHECK(computed(sheet, "most[query] = argmax(key) scores") == std::vector<double>{2, 2});
  CHECK(computed(sheet, "backwards[query, d_k] = Q[query, size(d_k) - 1 - d_k]") ==
        std::vector<double>{2, 1, 4, 3});
  CHECK(computed(sheet, "halves[key, d_k] = K[floor(key / 2), d_k]") ==
        std::vector<double>{1, 0, 1, 0, 0, 1});
}

TEST_CASE("A row that may see nothing gets no share, and NaN without the guard", "[formula]") {
  Sheet sheet;
  sheet.set("x", matrix({"row", "key"}, {2, 2}, {-infinity, -infinity, 0, -infinity}));
  CHECK(computed(sheet, "guarded = softmax(key) x") == std::vector<double>{0, 0, 1, 0});
  const auto unguarded = computed(sheet, "unguarded = unguarded_softmax(key) x");
  CHECK(std::isnan(unguarded[0]));
  CHECK(unguarded[2] == 1.0);
  CHECK(computed(sheet, "largest[row] = max(key) x") == std::vector<double>{-infinity, 0});
}

TEST_CASE("The largest and the smallest of numbers with a NaN is NaN, as in NumPy", "[formula]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Sheet sheet;
  sheet.set("x", matrix({"row", "key"}, {3, 2}, {nan, 1, 1, nan, 1, 2}));
  for (const char* along : {"largest[row] = max(key) x", "smallest[row] = min(key) x"}) {
    const auto rows = computed(sheet, along);
    CAPTURE(along, rows);
    CHECK((std::isnan(rows[0]) && std::isnan(rows[1]) && !std::isnan(rows[2])));
  }
  for (const char* of_two : {"a[row, key] = max(x, 1.5)", "b[row, key] = max(1.5, x)",
                             "c[row, key] = min(x, 1.5)", "d[row, key] = min(1.5, x)"}) {
    const auto numbers = computed(sheet, of_two);
    CAPTURE(of_two, numbers);
    CHECK((std::isnan(numbers[0]) && std::isnan(numbers[3]) && !std::isnan(numbers[1])));
  }
}

TEST_CASE("A maximum is worked out without what hides a number, and with that of a maximum in it",
          "[formula]") {
  Sheet sheet;
  sheet.set("s", matrix({"key"}, {3}, {2, -infinity, 3}));
  const auto worked = [&](const char* formula) {
    const auto definition = sheet.resolved(parse_definition(formula));
    const auto number = [](const attn::Worked& one) { return fmt::format("{}", one.value()); };
    return sheet.worked(definition, {}).text(number, 9);
  };
  CHECK(worked("m = max(key) s") == "max(2, 3)");
  CHECK(worked("m = max(1, max(key) s)") == "max(1, 2, 3)");
  CHECK(sheet.worked(sheet.resolved(parse_definition("m = max(key) where(key < 9, -inf, s)")), {}).value() ==
        -infinity);
}

TEST_CASE("What is chosen everywhere counts alone, as numbers where the other part is a number",
          "[formula]") {
  auto sheet = two_matrices();
  computed(sheet, "later[query, key] = where(query < key, 1, 0)");
  CHECK(computed(sheet, "a[query, key] = where(0, Q[query, 0], where(1, later, 7))") ==
        std::vector<double>{0, 1, 1, 0, 0, 1});
  sheet.compute(parse_definition("mask[query, key] = where(size(key) = 3, query < key, key < query)"));
  CHECK(sheet.tensor("mask").is_truth);
  CHECK(computed(sheet, "b[query, key] = where(1, mask, 7)") == std::vector<double>{0, 1, 1, 0, 0, 1});
  CHECK(computed(sheet, "c[query] = sum(key) where(1, 2, later)") == std::vector<double>{6, 6});
}

TEST_CASE("Numbers that were dropped are computed again for who asks", "[formula]") {
  auto sheet = two_matrices();
  const auto scores = computed(sheet, "scores[query, key] = sum(d_k) Q * K");
  const auto scaled = computed(sheet, "scaled[query, key] = scores / d_k");
  for (const char* name : {"Q", "scores", "scaled"}) sheet.drop(name);
  CHECK(sheet.form("Q").data != nullptr);  // which no formula makes
  CHECK(sheet.form("scores").data == nullptr);
  CHECK(sheet.form("scaled").shape == attn::Shape{1, 2, 3});
  sheet.alias("divided", "scaled");
  const auto other = sheet;
  CHECK(sheet.tensor("divided").at({0, 1, 2}) == scaled[5]);
  CHECK(sheet.form("scores").data != nullptr);
  CHECK(other.tensor("scaled").at({0, 1, 2}) == scaled[5]);
  for (const char* name : {"scores", "scaled"}) sheet.drop(name);
  CHECK(computed(sheet, "same[query, key] = again(scaled, Q = 2 * Q) / 2") == scaled);
  CHECK(computed(sheet, "most[query] = max(key) scores") == std::vector<double>{3, 7});
  CHECK(sheet.tensor("scores").at({0, 1, 2}) == scores[5]);
}

TEST_CASE("A sum of products with an index that stays for a while is put together of its runs", "[formula]") {
  constexpr std::size_t heads = 3, n = 310, width = 2;
  Sheet sheet;
  const auto drawn = [](const attn::Shape& shape) {
    std::mt19937 random(7);
    auto numbers = std::make_shared<Numbers>(shape);
    for (double& number : *numbers) number = static_cast<double>(random() % 1000) / 1000.0;
    return std::shared_ptr<const Numbers>(numbers);
  };
  const auto weights = drawn({heads, n, n}), V = drawn({heads, n, width});
  sheet.set("weights", view_of({"head", "query", "key"}, weights));
  sheet.set("V", view_of({"head", "key", "d_v"}, V));
  sheet.axis("feature", heads * width);
  const auto output = computed(sheet,
                               "output[query, feature] = sum(key) weights[floor(feature / 2), query, key] * "
                               "V[floor(feature / 2), key, mod(feature, 2)]");
  for (const std::size_t i : {std::size_t{0}, std::size_t{17}, n - 1})
    for (std::size_t f = 0; f < heads * width; ++f) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) sum += (*weights)(f / 2, i, j) * (*V)(f / 2, j, f % 2);
      CHECK(output[i * heads * width + f] == Approx(sum));
    }
}

TEST_CASE("A step is computed again from another tensor, and what lies between follows", "[formula]") {
  auto sheet = two_matrices();
  computed(sheet, "scores[query, key] = sum(d_k) Q * K");
  computed(sheet, "weights[query, key] = softmax(key) scores");
  const auto weights = computed(sheet, "same[query, key] = again(weights, scores = scores + 10) - weights");
  for (const double change : weights) CHECK(std::abs(change) < 1e-15);
  CHECK(computed(sheet, "other[query, key] = again(scores, Q = 2 * Q)") ==
        std::vector<double>{2, 4, 6, 6, 8, 14});
}

TEST_CASE("What is seen in slices is what is computed whole", "[formula]") {
  constexpr std::size_t queries = 1900, keys = 2300;  // a table is more than what is computed at once
  Sheet sheet;
  const auto numbers = [](std::size_t count) {
    std::vector<double> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = std::sin(static_cast<double>(i));
    return all;
  };
  sheet.set("Q", matrix({"batch", "query", "d_k"}, {1, queries, 2}, numbers(queries * 2)));
  sheet.set("K", matrix({"batch", "key", "d_k"}, {1, keys, 2}, numbers(keys * 2)));
  sheet.compute(parse_definition("scores[query, key] = sum(d_k) Q * K"));
  sheet.compute(parse_definition("masked[query, key] = where(key <= query, scores, -inf)"));
  sheet.compute(parse_definition("weights[query, key] = softmax(key) masked"));
  const auto [formula, is_cut] =
      GENERATE(std::pair("sum(key) weights * (query + key)", true),
               std::pair("again(weights, masked = masked + 10) - weights", true),
               std::pair("again(weights, Q = Q * (1 + query))", true),
               std::pair("again(weights, K = K + key)", true), std::pair("weights * size(query)", true),
               std::pair("again(weights, scores = scores[0, query, 0])", true),
               std::pair("weights - sum(query) weights", false),
               std::pair("again(weights, scores = Q[0, 0, 0]) - "
                         "again(weights, scores = scores)",
                         true));
  INFO(formula);
  const auto definition = sheet.resolved({"", {}, parse(formula)});
  const auto whole = sheet.value(definition);
  std::size_t slices = 0, at = 0, differ = 0;
  sheet.in_slices(definition, [&](const View& slice) {
    ++slices;
    for (std::size_t i = 0; i < attn::element_count(slice.shape); ++i, ++at) {
      const double expected = static_cast<const double*>(whole.data)[at];
      const double error = std::abs(static_cast<const double*>(slice.data)[i] - expected);
      differ += error > 1e-12 * std::max(1.0, std::abs(expected));
    }
  });
  CHECK(at == attn::element_count(whole.shape));
  CHECK(differ == 0);
  CHECK((slices > 1) == is_cut);
}

TEST_CASE("What is unknown or does not fit is refused, and what would be valid is said", "[formula]") {
  auto sheet = two_matrices();
  using Catch::Matchers::Contains;
  CHECK_THAT(refusal(sheet, "a = Q + M"), Contains("M is unknown") && Contains("K, Q"));
  CHECK_THAT(refusal(sheet, "a[query, key] = Q * K"), Contains("d_k") && Contains("sum(d_k)"));
  CHECK_THAT(refusal(sheet, "a[query, time] = Q"), Contains("the axis time is unknown"));
  CHECK_THAT(refusal(sheet, "a = Q[key, d_k]"), Contains("key has 3 positions, and query of Q has 2"));
  CHECK_THAT(refusal(sheet, "a = Q[0, 0, 0, 0]"), Contains("4 indices"));
  CHECK_THAT(refusal(sheet, "a = again(Q, K = K)"), Contains("no step"));
}

TEST_CASE("Each entry of a random formula is its worked entry", "[formula]") {
  const char* wanted = std::getenv("ATTNLAB_FORMULAS");
  const std::size_t count = wanted == nullptr ? 500 : std::strtoul(wanted, nullptr, 10);
  const auto seed = std::random_device()();
  CAPTURE(seed);
  RandomFormulas formulas(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [sheet, definition] = formulas();
    CAPTURE(i, text(definition));
    const auto view = sheet.value(definition);
    attn::Index at(view.axes.size());
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) at[axis] = i % view.shape[axis];
    const double value = view.at(at), worked = sheet.worked(definition, at).value();
    const bool is_equal = value == worked || (std::isnan(value) && std::isnan(worked)) ||
                          std::abs(value - worked) <= 1e-9 * std::max(1.0, std::abs(value));
    CAPTURE(value, worked);
    REQUIRE(is_equal);
  }
}

}  // namespace formula

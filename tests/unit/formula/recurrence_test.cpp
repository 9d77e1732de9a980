#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "formula/numpy.hpp"
#include "formula/parse.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

std::shared_ptr<Numbers> numbers(const attn::Shape& shape, const std::vector<double>& all) {
  auto owned = std::make_shared<Numbers>(shape);
  std::copy(all.begin(), all.end(), owned->begin());
  return owned;
}

View vector(const std::string& axis, const std::vector<double>& all) {
  return view_of({axis}, std::shared_ptr<const Numbers>(numbers({all.size()}, all)));
}

/// With x[t] = 1, 2, 3.
Sheet three_places() {
  Sheet sheet;
  sheet.set("x", vector("t", {1, 2, 3}));
  return sheet;
}

Recurrence together(Sheet& sheet, const std::vector<const char*>& formulas) {
  std::vector<Definition> steps;
  for (const auto* formula : formulas) {
    const auto definition = parse_definition(formula);
    attn::Shape shape;
    for (const auto& axis : definition.axes) shape.push_back(sheet.size_of(axis));
    sheet.set(definition.name, view_of(definition.axes, std::make_shared<const Numbers>(shape, 0.0)));
  }
  for (const auto* formula : formulas) steps.push_back(sheet.resolved(parse_definition(formula)));
  return sheet.together(std::move(steps));
}

std::vector<double> numbers_of(const View& view) {
  const auto* first = static_cast<const double*>(view.data);
  return {first, first + attn::element_count(view.shape)};
}

std::string refusal(const std::vector<const char*>& formulas) {
  auto sheet = three_places();
  try {
    together(sheet, formulas);
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Steps that take one another's earlier entries are computed place by place", "[formula]") {
  auto sheet = three_places();
  sheet.compute(together(sheet, {"a[t] = where(t = 0, 0, b[t - 1]) + x", "b[t] = 2 * a"}));
  CHECK(numbers_of(sheet.tensor("a")) == std::vector<double>{1, 4, 11});
  CHECK(numbers_of(sheet.tensor("b")) == std::vector<double>{2, 8, 22});
  CHECK(sheet.worked(*sheet.definition_of("a"), {0}).value() == 1.0);
  CHECK(sheet.worked(*sheet.definition_of("a"), {2}).value() == 11.0);
}

TEST_CASE("They are computed in the order in which they need one another, and from the end backwards",
          "[formula]") {
  auto sheet = three_places();
  const auto recurrence = together(sheet, {"b[t] = 2 * a", "a[t] = where(t + 1 < size(t), b[t + 1], 0) + x"});
  CHECK(recurrence.axis == "t");
  CHECK(recurrence.is_reversed);
  CHECK(recurrence.steps.front().name == "a");
  sheet.compute(recurrence);
  CHECK(numbers_of(sheet.tensor("a")) == std::vector<double>{17, 8, 3});
}

TEST_CASE("A row that somebody changes goes into the rows after it", "[formula]") {
  auto sheet = three_places();
  sheet.compute(together(sheet, {"a[t] = where(t = 0, 0, a[t - 1]) + x"}),
                [](const Definition&, std::size_t place, Numbers& row) {
                  if (place == 1) row.fill(10.0);
                });
  CHECK(numbers_of(sheet.tensor("a")) == std::vector<double>{1, 10, 13});
}

TEST_CASE("A recurrence is computed again as a whole, and what follows with it", "[formula]") {
  auto sheet = three_places();
  sheet.compute(together(sheet, {"a[t] = where(t = 0, 0, b[t - 1]) + x", "b[t] = 2 * a"}));
  sheet.compute(parse_definition("last = sum(t) where(t = 2, a, 0)"));
  const auto& last = sheet.compute(parse_definition("other = again(last, x = 2 * x)"));
  CHECK(numbers_of(last) == std::vector<double>{22});
}

TEST_CASE("A recurrence is refused that cannot be computed place by place", "[formula]") {
  using Catch::Contains;
  CHECK_THAT(refusal({"a[t] = b + a[t - 1]", "b[t] = a"}), Contains("one another at the same place"));
  CHECK_THAT(refusal({"a[t] = a[t - 1] + a[t + 1]"}), Contains("computed place by place along t"));
  CHECK_THAT(refusal({"a[t] = a[t - 1] + sum(t) x[t]"}), Contains("needs all places along t at once"));
  CHECK_THAT(refusal({"a[t] = b", "b[t] = x"}), Contains("valid: entries one place before, a[t - 1, …]"));
}

TEST_CASE("NumPy and xtensor have a recurrence as a loop", "[formula]") {
  auto sheet = three_places();
  sheet.compute(together(sheet, {"a[t] = where(t = 0, 0, b[t - 1]) + x", "b[t] = 2 * a"}));
  const auto lines = [&](const char* step) { return numpy_lines(sheet, *sheet.definition_of(step), true); };
  CHECK(lines("a") == std::vector<std::string>{"a, b = np.zeros((2, 3))", "for t in range(3):",
                                               "    a[t] = np.where(t == 0, 0, b[t - 1]) + x[t]",
                                               "    b[t] = 2 * a[t]"});
  CHECK(lines("b").empty());
  CHECK(fmt::format("{}", fmt::join(xtensor_lines(sheet, *sheet.definition_of("a"), true), "\n")) ==
        R"(xt::xarray<double> a = xt::zeros<double>({3});
xt::xarray<double> b = xt::zeros<double>({3});
for (long t = 0; t < 3; ++t) {
  a(t) = (t == 0.0 ? 0.0 : lab::at(b, t - 1.0)) + x(t);
  b(t) = 2.0 * a(t);
})");
}

}  // namespace formula

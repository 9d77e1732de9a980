#include "formula/entrywise.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

namespace formula {

namespace {

std::shared_ptr<Numbers> counted(const attn::Shape& shape) {
  auto numbers = std::make_shared<Numbers>(shape);
  std::iota(numbers->begin(), numbers->end(), -3.0);
  return numbers;
}

/// The same elements along other axes: a stride of 0 repeats, and some are left out.
View with_strides(View view, const attn::Shape& shape, const std::vector<std::ptrdiff_t>& strides) {
  view.axes.assign(shape.size(), "axis");
  view.shape = shape;
  view.strides = strides;
  return view;
}

}  // namespace

TEST_CASE("Functions of entries are computed a block at a time, whatever the strides are", "[entrywise]") {
  const std::size_t rows = GENERATE(1, 3, 40), columns = GENERATE(1, 2, 7, 256, 300);
  const auto table = view_of({"row", "column"}, std::shared_ptr<const Numbers>(counted({rows, columns})));
  const auto row = counted({columns}), column = counted({rows}), other = counted({columns, rows});
  Truths odd(attn::Shape{rows, columns});
  for (std::size_t i = 0; i < odd.size(); ++i) odd.flat(i) = i % 2 == 1;
  const auto truths = view_of({"row", "column"}, std::make_shared<const Truths>(odd));

  Entrywise program({rows, columns});
  const auto x = program.add({.view = table});
  const auto along_row = program.add(
      {.view = with_strides(view_of({"c"}, std::shared_ptr<const Numbers>(row)), {rows, columns}, {0, 1})});
  const auto along_column =
      program.add({.view = with_strides(view_of({"r"}, std::shared_ptr<const Numbers>(column)),
                                        {rows, columns}, {1, 0})});
  const auto turned =
      program.add({.view = with_strides(view_of({"c", "r"}, std::shared_ptr<const Numbers>(other)),
                                        {rows, columns}, {1, static_cast<std::ptrdiff_t>(rows)})});
  const auto is_odd = program.add({.view = truths});
  const auto sum = program.add({.function = function_named("+"), .operands = {x, along_row}});
  const auto power = program.add(
      {.function = function_named("^"), .operands = {along_column, program.add({.number = 3.0})}});
  const auto chosen = program.add({.function = function_named("where"), .operands = {is_odd, sum, power}});
  const auto whole = program.add({.function = function_named("-"), .operands = {chosen, turned}});
  const auto is_less =
      program.add({.function = function_named("<"), .operands = {whole, program.add({.number = 0.0})}});

  Numbers result(attn::Shape{rows, columns});
  Truths less(attn::Shape{rows, columns});
  program.compute(whole, result.data());
  program.compute(is_less, less.data());
  double seen = 0.0, expected_sum = 0.0;
  program.see(whole, [&](std::size_t, const double* numbers, std::size_t count) {
    seen = std::accumulate(numbers, numbers + count, seen);
  });
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const double of_column = static_cast<double>(i) - 3.0, of_row = static_cast<double>(j) - 3.0;
      const double of_table = static_cast<double>(i * columns + j) - 3.0;
      const double expected = ((i * columns + j) % 2 == 1 ? of_table + of_row : std::pow(of_column, 3.0)) -
                              (static_cast<double>(j * rows + i) - 3.0);
      REQUIRE(result(i, j) == expected);
      REQUIRE(less(i, j) == (expected < 0.0));
      expected_sum += expected;
    }
  CHECK(seen == expected_sum);
}

TEST_CASE("A value that needs no function is copied, and a number is repeated", "[entrywise]") {
  const auto table = view_of({"row", "column"}, std::shared_ptr<const Numbers>(counted({2, 300})));
  CHECK((numbers_in_order(table) == *counted({2, 300})));
  CHECK_FALSE(truths_in_order(table)(0, 3));
  CHECK(truths_in_order(table)(0, 4));
  Entrywise program({2, 2});
  program.add({.view = with_strides(table, {2, 2}, {0, 0})});
  Numbers numbers(attn::Shape{2, 2});
  program.compute(program.add({.number = 7.0}), numbers.data());
  CHECK((numbers == Numbers(attn::Shape{2, 2}, 7.0)));
  Entrywise single({});
  double number = 0.0;
  single.compute(single.add({.number = 5.0}), &number);
  CHECK(number == 5.0);
}

}  // namespace formula

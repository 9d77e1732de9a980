#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/slice.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("a step is the same row of every sample", "[steps]") {
  const Tensor<3> x = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  CHECK((attn::step_of(x, 0) == Tensor<2>{{1, 2}, {7, 8}}));
  CHECK((attn::step_of(x, 2) == Tensor<2>{{5, 6}, {11, 12}}));
  CHECK_THROWS_WITH(attn::step_of(x, 3), Contains("[step_of]") && Contains("3"));
}

TEST_CASE("stacking the steps of a sequence gives it back", "[steps]") {
  const auto x = random_tensor<3>({2, 4, 3}, 1);
  std::vector<Tensor<2>> steps;
  for (std::size_t t = 0; t < 4; ++t) steps.push_back(attn::step_of(x, t));
  CHECK((attn::stack_steps(steps) == x));
}

TEST_CASE("some steps of a sequence are a shorter sequence", "[steps]") {
  const Tensor<3> x = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  CHECK((attn::steps_of(x, 1, 3) == Tensor<3>{{{3, 4}, {5, 6}}, {{9, 10}, {11, 12}}}));
  CHECK((attn::steps_of(x, 0, 3) == x));
  CHECK_THROWS_WITH(attn::steps_of(x, 2, 4), Contains("[steps_of]") && Contains("4"));
}

TEST_CASE("rows are joined end to end", "[steps]") {
  const Tensor<2> a = {{1, 2}, {3, 4}}, b = {{5}, {6}};
  CHECK((attn::join(a, b) == Tensor<2>{{1, 2, 5}, {3, 4, 6}}));
  const Tensor<3> c = {{{1}, {2}}}, d = {{{3, 4}, {5, 6}}};
  CHECK((attn::join(c, d) == Tensor<3>{{{1, 3, 4}, {2, 5, 6}}}));
}

TEST_CASE("sequences that do not fit together are refused with both shapes", "[steps]") {
  const auto a = random_tensor<2>({2, 3}, 1), b = random_tensor<2>({4, 3}, 2);
  CHECK_THROWS_WITH(attn::stack_steps(std::vector{a, b}),
                    Contains("[stack_steps]") && Contains("2×3") && Contains("4×3"));
  CHECK_THROWS_AS(attn::stack_steps(std::vector<Tensor<2>>{}), std::invalid_argument);
  CHECK_THROWS_WITH(attn::join(a, b), Contains("[join]") && Contains("2×3") && Contains("4×3"));
}

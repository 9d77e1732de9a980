#include "attn/ops/measure.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("the largest magnitude may belong to a negative number", "[measure]") {
  CHECK(attn::max_abs(Tensor<2>{{1, -3}, {2, 0}}) == 3.0);
  CHECK(attn::max_abs(Tensor<1>::from_shape({0})) == 0.0);
  CHECK(attn::max_abs(Tensor<1>{1, -infinity}) == infinity);
}

TEST_CASE("the largest difference is found wherever it is", "[measure]") {
  const auto x = random_tensor<4>({2, 2, 2, 2}, 1);
  CHECK(attn::max_abs_difference(x, x) == 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto y = x;
    y.data()[i] += 4;
    CHECK(attn::max_abs_difference(x, y) == Approx(4.0));
    CHECK(attn::max_abs_difference(y, x) == Approx(4.0));
  }
}

TEST_CASE("equal infinities do not differ, unequal ones do without end", "[measure]") {
  const Tensor<1> x = {-infinity, infinity, 1.0};
  CHECK(attn::max_abs_difference(x, x) == 0.0);
  CHECK(attn::max_abs_difference(x, {infinity, infinity, 1.0}) == infinity);
  CHECK(attn::max_abs_difference(x, {-infinity, 0.0, 1.0}) == infinity);
}

TEST_CASE("a NaN is never lost in a maximum", "[measure]") {
  const Tensor<1> zeros = {0.0, 0.0, 0.0};
  Tensor<1> x = {1.0, infinity, 2.0};
  x(GENERATE(0U, 1U, 2U)) = not_a_number;
  CHECK(std::isnan(attn::max_abs(x)));
  CHECK(std::isnan(attn::max_abs_difference(x, zeros)));
  CHECK(std::isnan(attn::max_abs_difference(zeros, x)));
  CHECK(std::isnan(attn::max_abs_difference(x, x)));
  CHECK(std::isnan(attn::row_sum_deviation(x)));
}

TEST_CASE("of several measurements the largest counts, or NaN wherever it stands", "[measure]") {
  CHECK(attn::maximum({-2.0, -1.0, -3.0}) == -1.0);
  CHECK(attn::maximum({infinity, 0.0}) == infinity);
  CHECK(std::isnan(attn::maximum({not_a_number, 1.0, infinity})));
  CHECK(std::isnan(attn::maximum({1.0, not_a_number, infinity})));
  CHECK(std::isnan(attn::maximum({infinity, not_a_number})));
}

TEST_CASE("a difference of two shapes is refused with both", "[measure]") {
  CHECK_THROWS_AS(attn::max_abs_difference(Tensor<1>{1, 2}, Tensor<1>{1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_WITH(attn::max_abs_difference(random_tensor<2>({2, 3}, 1), random_tensor<2>({3, 2}, 1)),
                    Contains("2×3") && Contains("3×2"));
}

TEST_CASE("row sums are judged row by row, rows of zeros left out", "[measure]") {
  const auto half = double(0.5);
  CHECK(attn::row_sum_deviation(Tensor<2>{{half, half}, {0, 0}}) == 0.0);
  CHECK(attn::row_sum_deviation(Tensor<2>{{half, half}, {half, 0}, {1, double(0.25)}}) == 0.5);
  CHECK(attn::row_sum_deviation(Tensor<2>{{half, half}, {half, half}}) == 0.0);
  CHECK(attn::row_sum_deviation(Tensor<2>{{1, -1}}) == 1.0);
}

TEST_CASE("argmax is the place of the largest number, the first of several") {
  const double numbers[] = {-3.0, 2.0, -1.0, 2.0};
  CHECK(attn::argmax(numbers, 4) == 1u);
  CHECK(attn::argmax(numbers + 2, 1) == 0u);
}

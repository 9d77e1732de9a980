#include "tests/unit/central_difference.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::GradientCheck;
using attn::Tensor;
using Catch::Contains;

namespace {

using Matrix = Tensor<2>;

/// L = Σ (x W) ∘ d_output, whose gradient is d_output Wᵀ.
GradientCheck<2> product() {
  const auto W = random_tensor<2>({3, 5}, 1), d_output = random_tensor<2>({4, 5}, 2);
  return {.f = [W](const Matrix& x) { return attn::matmul(x, W); },
          .x = random_tensor<2>({4, 3}, 3),
          .d_output = d_output,
          .gradient = attn::matmul(d_output, attn::transpose(W)),
          .step = 0.5};
}

Matrix cubes(const Matrix& x) {
  Matrix result(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) result.data()[i] = x.data()[i] * x.data()[i] * x.data()[i];
  return result;
}

}  // namespace

TEST_CASE("a right gradient agrees with central differences", "[central_difference]") {
  const auto check = product();
  CHECK(attn::deviation_entry_by_entry(check) < 1e-13);
  CHECK(attn::deviation_along(check, random_tensor<2>({4, 3}, 4)) < 1e-13);
}

TEST_CASE("a gradient that is wrong in one entry is noticed, by how much it is wrong",
          "[central_difference]") {
  auto check = product();
  check.gradient(2, 1) += 0.25;
  CHECK(attn::deviation_entry_by_entry(check) == Approx(0.25));
  CHECK(attn::deviation_along(check, Matrix({4, 3}, -1.0)) == Approx(0.25));
}

TEST_CASE("a central difference of x³ is off by the square of the step", "[central_difference]") {
  const GradientCheck<2> check = {
      .f = cubes, .x = {{2.0}}, .d_output = {{1.0}}, .gradient = {{12.0}}, .step = 0.125};
  CHECK(attn::deviation_entry_by_entry(check) == Approx(0.125 * 0.125));
}

TEST_CASE("a gradient that is no number is not passed over", "[central_difference]") {
  auto check = product();
  check.gradient(0, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(attn::deviation_entry_by_entry(check)));
}

TEST_CASE("a gradient of another shape is refused with both shapes", "[central_difference]") {
  auto check = product();
  CHECK_THROWS_WITH(attn::deviation_along(check, Matrix({3, 4}, 1.0)), Contains("4×3") && Contains("3×4"));
  check.gradient = Matrix({3, 4}, 0.0);
  CHECK_THROWS_AS(attn::deviation_entry_by_entry(check), std::invalid_argument);
  check = product();
  check.d_output = Matrix({4, 4}, 1.0);
  CHECK_THROWS_WITH(attn::deviation_entry_by_entry(check), Contains("4×5") && Contains("4×4"));
}

TEST_CASE("the comparer of the tests passes nothing that is no number") {
  using Numbers = std::vector<double>;
  CHECK(largest_difference(Numbers{1, 2, -infinity}, Numbers{1, 2.5, -infinity}) == 0.5);
  CHECK(largest_difference(Numbers{1, 5}, std::vector<float>{1.5, 2}) == 3.0);
  CHECK(largest_difference(Numbers{}, Numbers{}) == 0.0);
  for (const double wrong : {not_a_number, infinity, -infinity})
    for (const double right : {1.0, wrong == infinity ? -infinity : infinity})
      for (const std::size_t place : {0U, 1U, 2U}) {
        Numbers actual = {1, 2, 3}, expected = {1, 2, 3};
        actual[place] = wrong;
        expected[place] = right;
        CHECK(largest_difference(actual, expected) == infinity);
        CHECK(largest_difference(expected, actual) == infinity);
      }
  CHECK(largest_difference(Numbers{not_a_number}, Numbers{not_a_number}) == infinity);
  CHECK(largest_difference(Numbers{1, 2}, Numbers{1}) == infinity);
  CHECK(largest_difference(Numbers{1}, Numbers{1, 2}) == infinity);
  CHECK(largest(Numbers{1, -3, infinity, not_a_number}) == 3.0);
}

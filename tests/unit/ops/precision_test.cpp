#include "attn/ops/precision.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

using attn::Precision;
using attn::Tensor;
using Catch::Contains;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("formats are called what NumPy calls them", "[precision]") {
  CHECK(attn::name_of(Precision::float64) == "float64");
  CHECK(attn::name_of(Precision::float32) == "float32");
  CHECK(attn::name_of(Precision::float16) == "float16");
}

TEST_CASE("the largest numbers are those of the formats", "[precision]") {
  CHECK(attn::largest_number(Precision::float64) == std::numeric_limits<double>::max());
  CHECK(attn::largest_number(Precision::float32) == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(attn::largest_number(Precision::float16) == 65504.0);
}

TEST_CASE("a number is rounded to the format", "[precision]") {
  CHECK(attn::round_to(Precision::float64, 0.1) == 0.1);
  CHECK(attn::round_to(Precision::float32, 0.1) == static_cast<double>(0.1F));
  CHECK(attn::round_to(Precision::float16, 0.1) == 0.0999755859375);
  CHECK((attn::round_to(Precision::float16, Tensor<float, 2>{{0.1F, 1e9F}}) ==
         Tensor<float, 2>{{0.0999755859375F, std::numeric_limits<float>::infinity()}}));
}

TEST_CASE("exp overflows and vanishes where it is said to", "[precision]") {
  const auto precision = GENERATE(Precision::float64, Precision::float32, Precision::float16);
  const double above = attn::exp_overflows_above(precision), below = attn::exp_vanishes_below(precision);
  const auto exp_at = [&](double x) { return attn::round_to(precision, std::exp(x)); };
  const double hair = 1e-9;
  CHECK(std::isfinite(exp_at(above - hair)));
  CHECK(exp_at(above + hair) == infinity);
  CHECK(exp_at(below + hair) > 0.0);
  CHECK(exp_at(below - hair) == 0.0);
}

TEST_CASE("the thresholds are the known ones", "[precision]") {
  CHECK(attn::exp_overflows_above(Precision::float64) == Approx(709.782712893384).epsilon(1e-15));
  CHECK(attn::exp_overflows_above(Precision::float32) == Approx(88.7228391).epsilon(1e-9));
  CHECK(attn::exp_overflows_above(Precision::float16) == Approx(std::log(65520.0)).epsilon(1e-14));
  CHECK(attn::exp_vanishes_below(Precision::float16) == Approx(-25.0 * std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("infinite and NaN elements are counted", "[precision]") {
  const auto inf = static_cast<double>(infinity), nan = static_cast<double>(not_a_number);
  CHECK(attn::count_non_finite(Tensor<2>{{1, 0}, {-2, 3}}) == 0);
  CHECK(attn::count_non_finite(Tensor<2>{{1, inf}, {nan, -inf}}) == 3);
  CHECK(attn::count_non_finite(Tensor<1>{nan, 0}) == 1);
}

TEST_CASE("an overflow that is not foreseen, or does not come, is counted", "[precision]") {
  const Tensor<2> scores = {{1.0, 12.0}, {11.0, 11.1}};
  const auto unforeseen = [&](const Tensor<2>& exponentials) {
    return attn::count_unforeseen(scores, exponentials, Precision::float16);
  };
  CHECK(unforeseen({{2.7, infinity}, {59872.0, infinity}}) == 0);
  CHECK(unforeseen({{2.7, 65504.0}, {59872.0, infinity}}) == 1);
  CHECK(unforeseen({{infinity, infinity}, {infinity, 1.0}}) == 3);
  CHECK_THROWS_AS(unforeseen({{1.0}}), std::invalid_argument);
  CHECK_THROWS_WITH(unforeseen({{1.0, 2.0}}), Contains("2×2") && Contains("1×2"));
}

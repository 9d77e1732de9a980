#include "attn/ops/precision.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/numbers.hpp"

using attn::Dtype;
using attn::Tensor;

namespace {}  // namespace

TEST_CASE("formats are called what NumPy calls them", "[precision]") {
  CHECK(attn::name_of(Dtype::float64) == "float64");
  CHECK(attn::name_of(Dtype::float32) == "float32");
  CHECK(attn::name_of(Dtype::float16) == "float16");
}

TEST_CASE("the largest numbers are those of the formats", "[precision]") {
  CHECK(attn::largest_number(Dtype::float64) == std::numeric_limits<double>::max());
  CHECK(attn::largest_number(Dtype::float32) == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(attn::largest_number(Dtype::float16) == 65504.0);
}

TEST_CASE("a number is rounded to the format", "[precision]") {
  CHECK(attn::round_to(Dtype::float64, 0.1) == 0.1);
  CHECK(attn::round_to(Dtype::float32, 0.1) == static_cast<double>(0.1F));
  CHECK(attn::round_to(Dtype::float16, 0.1) == 0.0999755859375);
  CHECK((attn::round_to(Dtype::float16, Tensor<2>{{0.1, 1e9}}) == Tensor<2>{{0.0999755859375, infinity}}));
}

TEST_CASE("exp overflows and vanishes where it is said to", "[precision]") {
  const auto precision = GENERATE(Dtype::float64, Dtype::float32, Dtype::float16);
  const double above = attn::exp_overflows_above(precision), below = attn::exp_vanishes_below(precision);
  const auto exp_at = [&](double x) { return attn::round_to(precision, std::exp(x)); };
  const double hair = 1e-9;
  CHECK(std::isfinite(exp_at(above - hair)));
  CHECK(exp_at(above + hair) == infinity);
  CHECK(exp_at(below + hair) > 0.0);
  CHECK(exp_at(below - hair) == 0.0);
}

TEST_CASE("the thresholds are the known ones", "[precision]") {
  CHECK(attn::exp_overflows_above(Dtype::float64) == Approx(709.782712893384).epsilon(1e-15));
  CHECK(attn::exp_overflows_above(Dtype::float32) == Approx(88.7228391).epsilon(1e-9));
  CHECK(attn::exp_overflows_above(Dtype::float16) == Approx(std::log(65520.0)).epsilon(1e-14));
  CHECK(attn::exp_vanishes_below(Dtype::float16) == Approx(-25.0 * std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("no number is rounded farther than it is said", "[precision]") {
  const auto format = GENERATE(Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16);
  for (const double x : {1.0, 1.999, 3.14159, 1e-6, 1e-8, 1e-300})
    CHECK(std::abs(attn::round_to(format, x) - x) <= attn::largest_rounding_error(format, x));
  CHECK(attn::largest_rounding_error(Dtype::float16, 1.0) == 0x1p-11);
  CHECK(attn::largest_rounding_error(Dtype::float16, 0.0) == 0x1p-25);
}

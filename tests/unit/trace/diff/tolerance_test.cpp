#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/numbers.hpp"
#include "trace/diff/diff.hpp"

using attn::default_tolerance;
using attn::Tolerance;

namespace {}  // namespace

TEST_CASE("a tolerance is absolute plus relative to the second number") {
  const Tolerance tolerance{.absolute = 0.5, .relative = 0.25};
  CHECK(tolerance.accepts(4.0, 5.75));
  CHECK(tolerance.accepts(1.5, 2.5));
  CHECK_FALSE(tolerance.accepts(0.0, 0.75));
  CHECK(tolerance.accepts(-3.0, -4.0));
  CHECK_FALSE(tolerance.accepts(1.0, -1.0));
  CHECK(tolerance.accepts(2.5, 2.0));
  CHECK_FALSE(tolerance.accepts(3.25, 2.0));
}

TEST_CASE("without a tolerance only the same number is accepted, and zero has no sign") {
  const Tolerance none;
  CHECK(none.accepts(0.1, 0.1));
  CHECK(none.accepts(0.0, -0.0));
  CHECK_FALSE(none.accepts(0.1, std::nextafter(0.1, 1.0)));
}

TEST_CASE("infinities and NaN equal themselves and nothing else, whatever the tolerance") {
  const Tolerance generous{.absolute = 1e300, .relative = 1e300};
  CHECK(generous.accepts(infinity, infinity));
  CHECK(generous.accepts(-infinity, -infinity));
  CHECK(generous.accepts(not_a_number, not_a_number));
  CHECK_FALSE(generous.accepts(infinity, -infinity));
  CHECK_FALSE(generous.accepts(1.0, infinity));
  CHECK_FALSE(generous.accepts(-infinity, 1.0));
  CHECK_FALSE(generous.accepts(not_a_number, 1.0));
  CHECK_FALSE(generous.accepts(infinity, not_a_number));
}

TEST_CASE("the default tolerance is what rounding explains for the element type") {
  CHECK(default_tolerance("float64").absolute == 1e-12);
  CHECK(default_tolerance("float64").relative == 1e-10);
  CHECK(default_tolerance("float32").absolute == 1e-6);
  CHECK(default_tolerance("float32").relative == 1e-5);
  CHECK(default_tolerance("float16").relative > default_tolerance("float32").relative);
  CHECK(default_tolerance("bfloat16").relative > default_tolerance("float16").relative);
  for (const char* exact : {"int64", "uint8", "bool"}) {
    CHECK(default_tolerance(exact).absolute == 0.0);
    CHECK(default_tolerance(exact).relative == 0.0);
  }
}

TEST_CASE("of two element types the coarser one decides") {
  CHECK(default_tolerance("float64", "float32").relative == 1e-5);
  CHECK(default_tolerance("float32", "float64").absolute == 1e-6);
  CHECK(default_tolerance("float64", "float64").relative == 1e-10);
  CHECK(default_tolerance("int64", "float64").relative == 1e-10);
}

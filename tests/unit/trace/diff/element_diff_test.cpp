#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/unit/numbers.hpp"
#include "trace/diff/diff.hpp"

using attn::compare_elements;
using attn::ElementDiff;
using attn::Number;
using attn::to_string;
using attn::Tolerance;

namespace {

/// Compares two vectors.
template <class A, class B = A>
ElementDiff compare(const std::vector<A>& a, const std::vector<B>& b, const Tolerance& tolerance = {}) {
  const auto copy = [](const auto& elements) {
    using Element = typename std::decay_t<decltype(elements)>::value_type;
    using T = std::conditional_t<std::is_same_v<Element, float>, double, Element>;
    auto copied = std::make_unique<T[]>(elements.size());
    std::copy(elements.begin(), elements.end(), copied.get());
    return copied;
  };
  const auto of_a = copy(a);
  const auto of_b = copy(b);
  return compare_elements({attn::dtype_of<A>(), {a.size()}, of_a.get()},
                          {attn::dtype_of<B>(), {b.size()}, of_b.get()}, tolerance);
}

}  // namespace

TEST_CASE("equal elements do not differ") {
  const auto diff =
      compare<double>({1.0, -infinity, not_a_number, 0.0}, {1.0, -infinity, not_a_number, -0.0});
  CHECK(diff.unequal == 0);
  CHECK(diff.beyond == 0);
  CHECK(diff.max_absolute == 0.0);
  CHECK(diff.max_relative == 0.0);
}

TEST_CASE("the first and the farthest element are told, and both errors") {
  const auto diff = compare<double>({1.0, 2.0, 3.0, 4.0}, {1.0, 2.5, 3.0, 8.0});
  CHECK(diff.unequal == 2);
  CHECK(diff.beyond == 2);
  CHECK(diff.first == 1);
  CHECK((diff.first_a == Number(2.0)));
  CHECK((diff.first_b == Number(2.5)));
  CHECK(diff.farthest == 3);
  CHECK(diff.max_absolute == 4.0);
  CHECK(diff.max_relative == 0.5);
}

TEST_CASE("elements within the tolerance are unequal but not beyond it") {
  const auto diff = compare<double>({1.0, 2.0, 3.0}, {1.25, 2.0, 3.75}, {.absolute = 0.5});
  CHECK(diff.unequal == 2);
  CHECK(diff.beyond == 1);
  CHECK(diff.first == 2);
  CHECK(diff.farthest == 2);
}

TEST_CASE("a difference in the last bit of any single element is found") {
  std::vector<double> a(1000, 0.1);
  for (const std::size_t place : {0u, 1u, 499u, 998u, 999u}) {
    auto b = a;
    b[place] = std::nextafter(0.1, 1.0);
    const auto diff = compare(a, b);
    CHECK(diff.unequal == 1);
    CHECK(diff.first == place);
    CHECK(diff.farthest == place);
    CHECK(diff.max_absolute == b[place] - 0.1);
  }
}

TEST_CASE("what is no finite number is infinitely far from everything else") {
  const std::vector<std::pair<double, double>> pairs = {{1.0, infinity},       {-infinity, 1.0},
                                                        {infinity, -infinity}, {not_a_number, 1.0},
                                                        {1.0, not_a_number},   {not_a_number, infinity}};
  for (const auto& [a, b] : pairs) {
    const auto diff = compare<double>({a}, {b}, {.absolute = 1e300, .relative = 1e300});
    INFO(a << " beside " << b);
    CHECK(diff.beyond == 1);
    CHECK(diff.max_absolute == infinity);
    CHECK(diff.max_relative == infinity);
  }
}

TEST_CASE("there is no relative error where b is 0, as in padding") {
  const auto padding = compare<double>({1e-20}, {0.0});
  CHECK(padding.max_absolute == 1e-20);
  CHECK(padding.max_relative == 0.0);
  CHECK(compare<double>({1e-20, 1.5}, {0.0, 1.0}).max_relative == 0.5);
}

TEST_CASE("what rounding explains follows from the largest number of the row") {
  const auto tolerance = attn::default_tolerance("float32");
  const std::vector<double> a{30.0, 0.0102, 0.0102, 0.001}, b{30.0, 0.0101, 0.0101, 0.001};
  const auto beyond = [&](const attn::Shape& shape, const attn::Tolerance& allowed) {
    return attn::compare_elements({attn::Dtype::float32, shape, a.data()},
                                  {attn::Dtype::float32, shape, b.data()}, allowed);
  };
  CHECK(beyond({4}, tolerance).beyond == 0);
  CHECK(beyond({2, 2}, tolerance).beyond == 1);
  CHECK(beyond({2, 2}, tolerance).first == 2);
  CHECK(beyond({4}, {1e-6, 1e-5}).beyond == 2);
  CHECK(compare<double>({infinity, 1.1}, {infinity, 1.0}, tolerance).beyond == 1);
}

TEST_CASE("whole numbers are compared exactly, however large") {
  const std::int64_t large = std::int64_t{1} << 53;
  CHECK(compare<std::int64_t>({large + 1}, {large}).beyond == 1);
  CHECK(compare<std::int64_t>({large + 1}, {large}).max_absolute == 1.0);
  const auto lowest = std::numeric_limits<std::int64_t>::min(),
             highest = std::numeric_limits<std::int64_t>::max();
  CHECK(compare<std::int64_t>({lowest}, {highest}).max_absolute == 0x1p64);
  CHECK(compare<std::int64_t>({3}, {5}, {.absolute = 2.0}).beyond == 0);
}

TEST_CASE("booleans differ by 1") {
  const auto diff = compare<bool>({true, false}, {true, true});
  CHECK(diff.beyond == 1);
  CHECK(diff.max_absolute == 1.0);
  CHECK((diff.first_a == Number(false)));
}

TEST_CASE("elements of different types are compared as numbers") {
  CHECK(compare<float, double>({0.5f, 0.1f}, {0.5, static_cast<double>(0.1f)}).unequal == 0);
  const auto diff = compare<float, double>({0.1f}, {0.1});
  CHECK(diff.unequal == 1);
  CHECK((diff.first_a == Number(static_cast<double>(0.1f))));
  CHECK(compare<bool, std::int64_t>({true}, {1}).unequal == 0);
  CHECK(compare<std::int64_t, double>({2}, {2.0}).unequal == 0);
}

TEST_CASE("tensors without elements are equal") {
  CHECK(compare<double>({}, {}).unequal == 0);
}

TEST_CASE("tensors of different shapes are refused") {
  CHECK_THROWS_AS(compare<double>({1.0}, {1.0, 2.0}), std::invalid_argument);
}

TEST_CASE("a number is written with as few digits as tell it from all others of its type") {
  CHECK(to_string(Number(0.1)) == "0.1");
  CHECK(to_string(Number(-infinity)) == "-inf");
  CHECK(to_string(Number(not_a_number)) == "nan");
  CHECK(to_string(Number(std::int64_t{-7})) == "-7");
  CHECK(to_string(Number(true)) == "true");
}

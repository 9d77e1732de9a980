#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attn/ops/precision.hpp"
#include "tests/unit/numbers.hpp"

namespace {

constexpr std::uint16_t largest_finite = 0x7BFF;

bool is_nan(std::uint16_t bits) {
  return (bits & 0x7C00) == 0x7C00 && (bits & 0x03FF) != 0;
}

std::uint16_t bits(unsigned value) {
  return static_cast<std::uint16_t>(value);
}

double round_to_half(double x) {
  return attn::half_value(attn::half_bits(x));
}

}  // namespace

TEST_CASE("numbers round to the halves that NumPy and PyTorch round them to", "[half]") {
  std::ifstream file(ATTN_FIXTURES "/half.json");
  const auto cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() > 400);
  for (const auto& one : cases) {
    INFO(one[0].get<double>());
    CHECK(attn::half_bits(one[0]) == one[1].get<std::uint16_t>());
  }
}

TEST_CASE("every half survives the way to float64 and back", "[half]") {
  std::size_t numbers = 0;
  for (unsigned pattern = 0; pattern <= 0xFFFF; ++pattern) {
    if (is_nan(bits(pattern))) continue;
    if (attn::half_bits(attn::half_value(bits(pattern))) == pattern) ++numbers;
  }
  CHECK(numbers == 0x10000 - 2 * 1023);
}

TEST_CASE("halfway between two halves the even one is nearest, a hair off it the nearer", "[half]") {
  std::size_t right = 0;
  for (unsigned low = 0; low < largest_finite; ++low) {
    const double middle = (attn::half_value(bits(low)) + attn::half_value(bits(low + 1))) / 2.0;
    const bool is_right = attn::half_bits(middle) == (low % 2 == 0 ? low : low + 1) &&
                          attn::half_bits(std::nextafter(middle, 0.0)) == low &&
                          attn::half_bits(std::nextafter(middle, infinity)) == low + 1 &&
                          attn::half_bits(-middle) == (attn::half_bits(middle) | 0x8000);
    if (is_right) ++right;
  }
  CHECK(right == largest_finite);
}

TEST_CASE("halves are what the standard says", "[half]") {
  CHECK(attn::half_value(0x3C00) == 1.0);
  CHECK(attn::half_value(0xC000) == -2.0);
  CHECK(attn::half_value(largest_finite) == 65504.0);
  CHECK(attn::half_value(0x0400) == 0x1p-14);
  CHECK(attn::half_value(0x0001) == 0x1p-24);
  CHECK(attn::half_value(0x7C00) == infinity);
  CHECK(attn::half_value(0xFC00) == -infinity);
  CHECK(std::isnan(attn::half_value(0x7E00)));
  CHECK(std::signbit(attn::half_value(0x8000)));
}

TEST_CASE("too large a number is infinite from halfway to the next half on", "[half]") {
  CHECK(round_to_half(std::nextafter(65520.0, 0.0)) == 65504.0);
  CHECK(round_to_half(65520.0) == infinity);
  CHECK(round_to_half(-1e9) == -infinity);
  CHECK(round_to_half(infinity) == infinity);
}

TEST_CASE("too small a number is 0 and keeps its sign", "[half]") {
  CHECK(attn::half_bits(0x1p-25) == 0);
  CHECK(attn::half_bits(std::nextafter(0x1p-25, 1.0)) == 1);
  CHECK(attn::half_bits(-5e-324) == 0x8000);
}

TEST_CASE("NaN stays NaN", "[half]") {
  CHECK(std::isnan(round_to_half(not_a_number)));
}

#include "trace/number.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "attn/ops/precision.hpp"
#include "attn/text/trim.hpp"
#include "trace/entry.hpp"

using attn::Dtype;
using attn::round_to;
using attn::shortest;

TEST_CASE("a number has as few digits as tell it from all others of its type") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(static_cast<double>(0.1F)) == "0.10000000149011612");
  CHECK(shortest(static_cast<double>(0.1F), Dtype::float32) == "0.1");
  CHECK(shortest(round_to(Dtype::float16, 0.1), Dtype::float16) == "0.1");
  CHECK(shortest(round_to(Dtype::bfloat16, 0.1), Dtype::bfloat16) == "0.1");
  CHECK(shortest(65504.0, Dtype::float16) == "65500");
  CHECK(shortest(0x1p-24, Dtype::float16) == "6e-08");
  CHECK(shortest(0x1.FEp127, Dtype::bfloat16) == "3.39e+38");
  CHECK(shortest(-1.0, Dtype::float16) == "-1");
}

TEST_CASE("whichever is shorter, with an exponent or without, is written") {
  CHECK(shortest(100000.0) == "1e+05");
  CHECK(shortest(-123456.0) == "-123456");
  CHECK(shortest(0.0001) == "1e-04");
  CHECK(shortest(0.00012) == "0.00012");
  CHECK(shortest(1e22) == "1e+22");
  CHECK(shortest(9007199254740993.0) == "9007199254740992");
  CHECK(shortest(123456792.0, Dtype::float32) == "123456792");
}

TEST_CASE("every half reads back from its shortest text") {
  std::size_t wrong = 0;
  for (unsigned bits = 1; bits < 0x7C00; ++bits) {
    const double half = attn::half_value(static_cast<std::uint16_t>(bits));
    const auto text = shortest(half, Dtype::float16);
    if (round_to(Dtype::float16, std::stod(text)) != half || text.size() > 10) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rounding to a type is to the nearest, ties to even") {
  CHECK(round_to(Dtype::float16, 2049.0) == 2048.0);
  CHECK(round_to(Dtype::float16, 2051.0) == 2052.0);
  CHECK(round_to(Dtype::float16, 65519.9) == 65504.0);
  CHECK(std::isinf(round_to(Dtype::float16, 65520.0)));
  CHECK(round_to(Dtype::bfloat16, 257.0) == 256.0);
  CHECK(round_to(Dtype::bfloat16, 259.0) == 260.0);
  CHECK(round_to(Dtype::bfloat16, 3.39e38) == 0x1.FEp127);
  CHECK(round_to(Dtype::bfloat16, -3.4e38) == -std::numeric_limits<double>::infinity());
  CHECK(round_to(Dtype::bfloat16, 0x1p-134) == 0.0);
  CHECK(round_to(Dtype::bfloat16, 0x1.8p-133) == 0x1p-132);
  CHECK(std::signbit(round_to(Dtype::bfloat16, -0.0)));
  CHECK(round_to(Dtype::float32, 0.1) == static_cast<double>(0.1F));
  CHECK(round_to(Dtype::float64, 0.1) == 0.1);
  std::size_t wrong = 0;
  for (double x = 1e-9; x < 1e5; x *= 1.0001)
    if (round_to(Dtype::float16, x) != attn::half_value(attn::half_bits(x))) ++wrong;
  CHECK(wrong == 0);
}

TEST_CASE("a word is a number or none") {
  using attn::number_in;
  for (const auto* word : {"1", "-0.5", ".5", "5.", "1e-3", "-inf", "1e-320"}) CHECK(number_in(word));
  CHECK(std::isnan(number_in("nan").value()));
  for (const auto* word :
       {"", "+1", " 1", "1 ", "0x10", "1e", "-", "index", "1,5", "1e999", "1e-999", "none"})
    CHECK_FALSE(number_in(word));
}

TEST_CASE("whole exponents are raised, others are not") {
  CHECK(attn::with_raised_exponents("2 · 64 · 8^2") == "2 · 64 · 8²");
  CHECK(attn::with_raised_exponents("(1 − 0.9^10)^2 / 2") == "(1 − 0.9¹⁰)² / 2");
  CHECK(attn::with_raised_exponents("10000^0.5 + x^-1 + 2^") == "10000^0.5 + x^-1 + 2^");
}

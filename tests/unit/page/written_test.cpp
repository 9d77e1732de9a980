#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "page/worksheet/sheet.hpp"

using attn::as_fraction;
using attn::as_written;
using attn::written_number;
using attn::written_numbers;

TEST_CASE("what people write is a number") {
  const auto value = [](const char* text) { return written_number(text).value().value; };
  CHECK(value("3") == 3.0);
  CHECK(value(" -1.5 ") == -1.5);
  CHECK(value("−1,5") == -1.5);
  CHECK(value(".5") == 0.5);
  CHECK(value("1e-3") == 1e-3);
  CHECK(value("3/7") == 3.0 / 7.0);
  CHECK(value("1/2 + 1/3") == Approx(5.0 / 6.0));
  CHECK(value("-3/7/2") == Approx(-3.0 / 14.0));
  CHECK(value("-2^2") == -4.0);
  CHECK(value("2^-1") == 0.5);
  CHECK(value("sqrt(2)/2") == Approx(std::sqrt(0.5)));
  CHECK(value("√2 · √2") == Approx(2.0));
  CHECK(value("exp(1)/(1+exp(1))") == Approx(1.0 / (1.0 + std::exp(-1.0))));
  CHECK(value("tanh(1)") == std::tanh(1.0));
  CHECK(value("−∞") == -std::numeric_limits<double>::infinity());
  CHECK(value("-Infinity") == -std::numeric_limits<double>::infinity());
}

TEST_CASE("what is no number is none") {
  for (const char* text : {"", "x", "1 2", "1/", "(1", "1)", "nan", "0/0", "sqrt(-1)", "1..2", "1e", "0x10",
                           "--", "1e9999e", "∞-∞"})
    CHECK_FALSE(written_number(text));
  CHECK_FALSE(written_number(std::string(10000, '-') + "1"));
  CHECK_FALSE(written_number(std::string(10000, '(')));
}

TEST_CASE("a decimal is known as far as its digits, fractions and roots are exact") {
  const auto slack = [](const char* text) { return written_number(text).value().slack; };
  CHECK(slack("0.33") == Approx(0.0055));
  CHECK(slack("0.3") == Approx(0.055));
  CHECK(slack("1.5e-3") == Approx(0.000055));
  CHECK(slack("0.5 · 3") == Approx(0.165));
  CHECK(slack("0.5 + 0.25") == Approx(0.055 + 0.0055));
  CHECK(slack("3") == 0.0);
  CHECK(slack("3/7") == 0.0);
  CHECK(slack("sqrt(2)/2") == 0.0);
}

TEST_CASE("a whole number beside decimals may be a rounded one, a fraction may not") {
  const auto numbers = written_numbers({"0.98", "0", "", " __ ", "1/4"});
  CHECK(numbers[1]->slack == Approx(0.0055));
  CHECK_FALSE(numbers[2]);
  CHECK_FALSE(numbers[3]);
  CHECK(numbers[4]->slack == 0.0);
  CHECK(written_numbers({"1", "0"})[0]->slack == 0.0);
  CHECK_FALSE(written_numbers({"1", "about 2"})[1]);
}

TEST_CASE("fractions are found where the number is one") {
  for (int q = 1; q < 200; ++q)
    for (int p = 1; p < 3 * q; p += 7) {
      const auto text = as_fraction(static_cast<double>(p) / q).value();
      CHECK(written_number(text).value().value == Approx(static_cast<double>(p) / q).epsilon(1e-14));
    }
  CHECK(as_fraction(-0.75) == "-3/4");
  CHECK(as_fraction(0.0) == "0");
  CHECK(as_fraction(1.0 / 3.0 + 1.0 / 3.0 + 1.0 / 3.0) == "1");
  CHECK_FALSE(as_fraction(std::sqrt(2.0)));
  CHECK_FALSE(as_fraction(std::exp(1.0)));
}

TEST_CASE("a tensor is written in full where it can be, else with four digits throughout") {
  using Texts = std::vector<std::string>;
  CHECK(as_written({1.5, -2.0, 0.0625}, false) == Texts{"1.5", "-2", "0.0625"});
  CHECK(as_written({1.0 / 3.0, 1.0}, false) == Texts{"0.3333", "1.0000"});
  CHECK(as_written({1.0 / 3.0, 1.0}, true) == Texts{"1/3", "1"});
  CHECK(as_written({-1e-9, std::sqrt(2.0)}, true) == Texts{"0.0000", "1.4142"});
  CHECK(as_written({-std::numeric_limits<double>::infinity(), 0.5}, true) == Texts{"-inf", "1/2"});
  CHECK(as_written({-0.0}, false) == Texts{"0"});
}

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "fast/simd/isa.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/simd_functions.hpp"
#include "tests/unit/numbers.hpp"

namespace {

template <class T>
SimdFunctions<T> functions_in_use() {
  return attn::simd::for_isa_in_use([](auto isa) { return simd_functions<isa(), T>(); });
}

template <class T>
std::vector<T> powers_of_2(const std::vector<T>& exponents) {
  const auto functions = functions_in_use<T>();
  std::vector<T> x = exponents, powers(exponents.size() + functions.lanes);
  x.resize(powers.size());
  for (std::size_t i = 0; i < exponents.size(); i += functions.lanes)
    functions.power_of_2(x.data() + i, powers.data() + i);
  powers.resize(exponents.size());
  return powers;
}

/// In units in the last place of what is expected.
template <class T>
double error_in_ulp(T value, long double expected) {
  const auto nearest = static_cast<T>(expected);
  const auto ulp = std::nextafter(nearest, std::numeric_limits<T>::infinity()) - nearest;
  return static_cast<double>(std::abs(static_cast<long double>(value) - expected) / ulp);
}

/// Everywhere that the result is neither denormal nor infinite, and close to the ends of the polynomial.
template <class T>
std::vector<T> exponents() {
  constexpr T lowest = std::numeric_limits<T>::min_exponent - 1;
  constexpr T highest = std::numeric_limits<T>::max_exponent - 1;
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<T> anywhere(lowest, highest), close(-1, 1);
  std::vector<T> x;
  for (int i = 0; i < 200'000; ++i) x.push_back(i % 2 == 0 ? anywhere(generator) : close(generator));
  for (T half = 2 * lowest; half < 2 * highest; ++half)
    for (const T towards : {lowest, highest}) x.push_back(std::nextafter(half / 2, towards));
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("the power of 2 is right to a few units in the last place", "", float, double) {
  for_each_isa([] {
    const auto x = exponents<TestType>();
    const auto powers = powers_of_2(x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst =
          std::max(worst, difference(error_in_ulp(powers[i], std::exp2(static_cast<long double>(x[i]))), 0));
    CHECK(worst <= (std::is_same_v<TestType, float> ? 2.5 : 1.5));
    CHECK(worst > 0);
  });
}

TEMPLATE_TEST_CASE("the power of 2 is exact for whole numbers, and nothing is left of minus infinity", "",
                   float, double) {
  for_each_isa([] {
    using Limits = std::numeric_limits<TestType>;
    const std::vector<TestType> x = {0, -0.0, 1, -1, 10, Limits::min_exponent - 1, Limits::max_exponent - 1};
    const auto powers = powers_of_2(x);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(powers[i] == std::exp2(x[i]));
    CHECK(powers_of_2<TestType>({-Limits::infinity()}).front() == 0);
    CHECK(powers_of_2<TestType>({-10'000}).front() == 0);
    CHECK(powers_of_2<TestType>({Limits::lowest()}).front() == 0);
    CHECK(std::isnan(powers_of_2<TestType>({Limits::quiet_NaN()}).front()));
  });
}

TEMPLATE_TEST_CASE("powers of 2 that are too small are not negative and less than any normal number", "",
                   float, double) {
  for_each_isa([] {
    constexpr TestType lowest = std::numeric_limits<TestType>::min_exponent - 1;
    for (TestType x = lowest - 2; x < lowest; x += static_cast<TestType>(0.03125)) {
      const TestType power = powers_of_2<TestType>({x}).front();
      CHECK(power >= 0);
      CHECK(power < std::numeric_limits<TestType>::min());
    }
  });
}

TEMPLATE_TEST_CASE("a multiplication and addition is rounded once but for the generic instructions", "",
                   float, double) {
  for_each_isa([] {
    constexpr TestType half_ulp = std::numeric_limits<TestType>::epsilon() / 2;
    const auto functions = functions_in_use<TestType>();
    const std::vector<TestType> x(functions.lanes, 1 + 2 * half_ulp), y(functions.lanes, 1 - half_ulp);
    const std::vector<TestType> z(functions.lanes, -1);
    std::vector<TestType> sums(functions.lanes);
    functions.multiply_add(x.data(), y.data(), z.data(), sums.data());
    const TestType once = std::fma(x.front(), y.front(), z.front());
    const TestType twice = x.front() * y.front() + z.front();
    REQUIRE(once != twice);
    for (const TestType sum : sums) {
      CHECK((sum == once || (sum == twice && attn::simd::isa_in_use() == attn::simd::Isa::generic)));
    }
  });
}

TEMPLATE_TEST_CASE("registers transpose the corner of a matrix, whole or not", "", float, double) {
  for_each_isa([] {
    const auto functions = functions_in_use<TestType>();
    const std::size_t lanes = functions.lanes, stride = lanes + 3;
    std::vector<TestType> matrix(lanes * stride);
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<TestType>(i + 1);
    for (std::size_t rows = 1; rows <= lanes; ++rows)
      for (std::size_t columns = 1; columns <= lanes; ++columns) {
        std::vector<TestType> expected, transposed(rows * columns + 1, -1);
        for (std::size_t c = 0; c < columns; ++c)
          for (std::size_t r = 0; r < rows; ++r) expected.push_back(matrix[r * stride + c]);
        expected.push_back(-1);
        functions.transpose(matrix.data(), stride, rows, columns, transposed.data());
        CHECK(transposed == expected);
      }
  });
}

TEST_CASE("denormals are flushed while asked for, and not after") {
  volatile float denormal = std::numeric_limits<float>::denorm_min() * 4,
                 smallest = std::numeric_limits<float>::min();
  {
    const attn::simd::FlushDenormals flush;
    CHECK(denormal * 4 == 0);
    CHECK(smallest / 2 == 0);
  }
  CHECK(denormal * 4 > 0);
  CHECK(smallest / 2 > 0);
}

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("frequencies fall from 1 by the same factor", "[positional]") {
  const auto frequencies = attn::position_frequencies(8);
  const Tensor<1> expected = {1.0, 0.1, 0.01, 0.001};
  CHECK(attn::max_abs_difference(frequencies, expected) <= 1e-16);
  CHECK(attn::position_frequencies(2)(0) == 1.0);
}

TEST_CASE("columns alternate sine and cosine, and position 0 is sin 0, cos 0", "[positional]") {
  const auto angles = attn::position_angles(30, attn::position_frequencies(6));
  const auto encoding = attn::sinusoidal_encoding(30, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(encoding(0, 2 * i) == 0.0);
    CHECK(encoding(0, 2 * i + 1) == 1.0);
    const double angle = 29.0 * std::pow(10000.0, -2.0 * static_cast<double>(i) / 6.0);
    CHECK(angles(29, i) == Approx(angle));
    CHECK(encoding(29, 2 * i) == Approx(std::sin(angle)));
    CHECK(encoding(29, 2 * i + 1) == Approx(std::cos(angle)));
  }
}

TEST_CASE("no two positions have the same encoding", "[positional]") {
  const auto encoding = attn::sinusoidal_encoding(300, 4);
  for (std::size_t p = 0; p < 300; ++p)
    for (std::size_t q = 0; q < p; ++q) {
      double distance = 0.0;
      for (std::size_t j = 0; j < 4; ++j) distance += std::abs(encoding(p, j) - encoding(q, j));
      REQUIRE(distance > 1e-3);
    }
}

TEST_CASE("each token gets the row of its position, in every sample", "[positional]") {
  const Tensor<3> x = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  const Tensor<2> table = {{10, 20}, {30, 40}, {50, 60}};
  CHECK((attn::add_positions(x, table) == Tensor<3>{{{11, 22}, {33, 44}}, {{15, 26}, {37, 48}}}));
}

TEST_CASE("what makes no pairs and what has no row is refused", "[positional]") {
  CHECK_THROWS_WITH(attn::position_frequencies(7), "d is 7; valid: an even number");
  CHECK_THROWS_AS(attn::sinusoidal_encoding(3, 5), attn::Error);
  const auto x = random_tensor<3>({1, 3, 4}, 1);
  CHECK_THROWS_WITH(attn::add_positions(x, random_tensor<2>({2, 4}, 2)),
                    Contains("[add_positions]") && Contains("1×3×4") && Contains("2×4"));
  CHECK_THROWS_AS(attn::add_positions(x, random_tensor<2>({3, 5}, 2)), std::invalid_argument);
}

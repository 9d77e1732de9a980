#include <catch2/catch.hpp>
#include <numbers>
#include <stdexcept>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Pairing;
using attn::Tensor;
using Catch::Contains;

namespace {

/// Columns 0, d/2, 1, d/2 + 1, …: where the pairs of halves become neighbours.
Tensor<3> interleave_halves(const Tensor<3>& x) {
  Tensor<3> interleaved(x.shape());
  const std::size_t half = x.shape(2) / 2;
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t p = 0; p < x.shape(1); ++p)
      for (std::size_t i = 0; i < half; ++i) {
        interleaved(b, p, 2 * i) = x(b, p, i);
        interleaved(b, p, 2 * i + 1) = x(b, p, half + i);
      }
  return interleaved;
}

/// x turned by the angles of its positions.
Tensor<3> rotary(const Tensor<3>& x, Pairing pairing) {
  const auto frequencies = attn::position_frequencies(x.shape(2));
  return attn::rotate_pairs(x, attn::position_angles(x.shape(1), frequencies), pairing);
}

Tensor<3> rotary_scores(const Tensor<3>& Q, const Tensor<3>& K, Pairing pairing) {
  return attn::matmul(rotary(Q, pairing), attn::transpose(rotary(K, pairing)));
}

}  // namespace

TEST_CASE("a quarter turn takes the first of a pair to the second", "[positional]") {
  const Tensor<3> x = {{{1, 2, 3, 4}}};
  const Tensor<2> quarter = {{std::numbers::pi / 2, 0.0}};
  CHECK(attn::max_abs_difference(attn::rotate_pairs(x, quarter, Pairing::adjacent),
                                 Tensor<3>{{{-2, 1, 3, 4}}}) <= 1e-15);
  CHECK(attn::max_abs_difference(attn::rotate_pairs(x, quarter, Pairing::halves),
                                 Tensor<3>{{{-3, 2, 1, 4}}}) <= 1e-15);
}

TEST_CASE("the two pairings are one up to the order of the columns", "[positional]") {
  const auto Q = random_tensor<3>({2, 6, 8}, 1), K = random_tensor<3>({2, 6, 8}, 2);
  CHECK((interleave_halves(rotary(Q, Pairing::halves)) == rotary(interleave_halves(Q), Pairing::adjacent)));
  const auto halves = rotary_scores(Q, K, Pairing::halves);
  const auto adjacent = rotary_scores(interleave_halves(Q), interleave_halves(K), Pairing::adjacent);
  CHECK(attn::max_abs_difference(halves, adjacent) <= 1e-13);
  CHECK(attn::max_abs_difference(halves, rotary_scores(Q, K, Pairing::adjacent)) > 0.1);
}

TEST_CASE("the same vectors everywhere have scores that depend on the distance only", "[positional]") {
  const auto q = random_tensor<1>({6}, 1), k = random_tensor<1>({6}, 2);
  Tensor<3> Q({1, 9, 6}), K({1, 9, 6});
  for (std::size_t p = 0; p < 9; ++p)
    for (std::size_t j = 0; j < 6; ++j) {
      Q(0, p, j) = q(j);
      K(0, p, j) = k(j);
    }
  const auto scores = rotary_scores(Q, K, Pairing::adjacent);
  for (std::size_t m = 1; m < 9; ++m)
    for (std::size_t n = 1; n < 9; ++n)
      CHECK(scores(0, m, n) == Approx(scores(0, m - 1, n - 1)).margin(1e-6));
  CHECK(scores(0, 0, 1) != Approx(scores(0, 1, 0)));
}

TEST_CASE("rotations refuse what does not fit", "[positional]") {
  const auto x = random_tensor<3>({1, 3, 4}, 1);
  CHECK_THROWS_WITH(attn::rotate_pairs(x, random_tensor<2>({2, 2}, 2), Pairing::adjacent),
                    Contains("[rotate_pairs]") && Contains("1×3×4") && Contains("2×2"));
  CHECK_THROWS_AS(attn::rotate_pairs(x, random_tensor<2>({3, 4}, 2), Pairing::halves), std::invalid_argument);
}

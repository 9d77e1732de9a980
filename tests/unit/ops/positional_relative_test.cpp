#include "attn/ops/positional_relative.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("distances go from query to key and are clipped on both sides", "[positional]") {
  const Integers<2> expected = {{0, 1, 2, 2}, {-1, 0, 1, 2}, {-2, -1, 0, 1}, {-2, -2, -1, 0}};
  CHECK((attn::clipped_distances(4, 2) == expected));
  CHECK((attn::clipped_distances(2, 0) == Integers<2>{{0, 0}, {0, 0}}));
}

TEST_CASE("relative scores are those with a key vector for every pair", "[positional]") {
  const auto Q = random_tensor<3>({2, 5, 3}, 1), K = random_tensor<3>({2, 5, 3}, 2);
  const auto keys = random_tensor<2>({5, 3}, 3);
  const auto relative = attn::relative_scores(Q, K, keys);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 5; ++j) {
        const auto row = static_cast<std::size_t>(relative.distances(i, j) + 2);
        double score = 0.0;
        for (std::size_t c = 0; c < 3; ++c)
          score += static_cast<double>(Q(b, i, c)) *
                   (static_cast<double>(K(b, j, c)) + static_cast<double>(keys(row, c)));
        CHECK(static_cast<double>(relative.scores(b, i, j)) == Approx(score / std::sqrt(3.0)).margin(1e-6));
      }
}

TEST_CASE("with one row of zeros, relative scores are plain scaled scores", "[positional]") {
  const Tensor<3> Q = {{{2.0, 0.0, 0.0, 0.0}, {0.0, 4.0, 0.0, 0.0}}};
  const auto relative = attn::relative_scores(Q, Q, Tensor<2>({1, 4}, 0.0));
  CHECK((relative.scores == Tensor<3>{{{2.0, 0.0}, {0.0, 8.0}}}));
}

TEST_CASE("relative scores refuse what does not fit", "[positional]") {
  const auto Q = random_tensor<3>({1, 2, 4}, 1);
  CHECK_THROWS_WITH(
      attn::relative_scores(Q, random_tensor<3>({1, 3, 4}, 2), random_tensor<2>({3, 4}, 3)),
      Contains("[relative_scores]") && Contains("1×2×4") && Contains("1×3×4"));
  CHECK_THROWS_WITH(attn::relative_scores(Q, Q, random_tensor<2>({4, 4}, 3)), Contains("odd"));
  CHECK_THROWS_AS(attn::relative_scores(Q, Q, random_tensor<2>({3, 5}, 3)), std::invalid_argument);
}

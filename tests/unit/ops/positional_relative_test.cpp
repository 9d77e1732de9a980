#include "attn/ops/positional_relative.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/unit/random_tensor.hpp"

using attn::Integers;
using attn::Tensor;
using Catch::Contains;

TEST_CASE("distances go from query to key and are clipped on both sides", "[positional]") {
  const Integers<2> expected = {{0, 1, 2, 2}, {-1, 0, 1, 2}, {-2, -1, 0, 1}, {-2, -2, -1, 0}};
  CHECK((attn::clipped_distances(4, 2) == expected));
  CHECK((attn::clipped_distances(2, 0) == Integers<2>{{0, 0}, {0, 0}}));
}

TEST_CASE("each query and key get the entry of their distance", "[positional]") {
  const auto by_distance = random_tensor<3>({2, 5, 5}, 1);
  const auto distances = attn::clipped_distances(5, 2);
  const auto picked = attn::at_distances(by_distance, distances);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 5; ++j)
        CHECK(picked(b, i, j) == by_distance(b, i, static_cast<std::size_t>(distances(i, j) + 2)));
}

TEST_CASE("distances that have no bucket are refused", "[positional]") {
  const auto distances = attn::clipped_distances(2, 1);
  CHECK_THROWS_WITH(attn::at_distances(random_tensor<3>({1, 2, 4}, 1), distances),
                    Contains("[at_distances]") && Contains("1×2×4") && Contains("odd"));
  CHECK_THROWS_AS(attn::at_distances(random_tensor<3>({1, 2, 1}, 1), distances), std::invalid_argument);
  CHECK_THROWS_AS(attn::at_distances(random_tensor<3>({1, 3, 3}, 1), distances), std::invalid_argument);
}

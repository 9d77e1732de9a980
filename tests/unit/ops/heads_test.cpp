#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/slice.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("a head gets its columns of every token, not a block of tokens", "[heads]") {
  const Tensor<3> x = {{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}};
  CHECK((attn::split_heads(x, 2) == Tensor<4>{{{{1, 2}, {5, 6}, {9, 10}}, {{3, 4}, {7, 8}, {11, 12}}}}));
}

TEST_CASE("merging the heads undoes splitting them", "[heads]") {
  const std::size_t heads = GENERATE(1, 2, 3, 6, 12);
  const auto x = random_tensor<3>({2, 5, 12}, 1);
  const auto split = attn::split_heads(x, heads);
  CHECK(split.shape() == std::array<std::size_t, 4>{2, heads, 5, 12 / heads});
  CHECK((attn::merge_heads(split) == x));
}

TEST_CASE("neighbouring query heads share a key and value head", "[heads]") {
  const Tensor<4> kv_heads = {{{{1, 2}}, {{3, 4}}}};
  CHECK((attn::repeat_heads(kv_heads, 4) == Tensor<4>{{{{1, 2}}, {{1, 2}}, {{3, 4}}, {{3, 4}}}}));
}

TEST_CASE("as many key and value heads as heads stay what they are", "[heads]") {
  const auto kv_heads = random_tensor<4>({2, 3, 4, 5}, 1);
  CHECK((attn::repeat_heads(kv_heads, 3) == kv_heads));
}

TEST_CASE("a single key and value head serves all", "[heads]") {
  const auto kv_heads = random_tensor<4>({2, 1, 4, 5}, 1);
  const auto repeated = attn::repeat_heads(kv_heads, 3);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t c = 0; c < 5; ++c) REQUIRE(repeated(b, h, i, c) == kv_heads(b, 0, i, c));
}

TEST_CASE("a number of heads that does not divide the columns is refused", "[heads]") {
  const auto x = random_tensor<3>({2, 5, 12}, 1);
  CHECK_THROWS_AS(attn::split_heads(x, 5), std::invalid_argument);
  CHECK_THROWS_WITH(attn::split_heads(x, 5),
                    Contains("[split_heads]") && Contains("2×5×12") && Contains("5 heads"));
  CHECK_THROWS_AS(attn::split_heads(x, 0), std::invalid_argument);
}

TEST_CASE("key and value heads that cannot be shared out equally are refused", "[heads]") {
  const auto kv_heads = random_tensor<4>({2, 3, 4, 5}, 1);
  CHECK_THROWS_AS(attn::repeat_heads(kv_heads, 4), std::invalid_argument);
  CHECK_THROWS_WITH(attn::repeat_heads(kv_heads, 4), Contains("[repeat_heads]") && Contains("2×3×4×5"));
  CHECK_THROWS_AS(attn::repeat_heads(kv_heads, 2), std::invalid_argument);
}

#include "attn/layers/key_value_cache.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <stdexcept>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/steps.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::KeyValueCache;
using attn::Tensor;
using Catch::Contains;

namespace {

constexpr double rounding = std::is_same_v<double, double> ? 1e-13 : 1e-5;

constexpr std::size_t heads = 4;

/// Weights for d_model = 6, four heads, d_k = 5 and d_v = 3.
attn::MultiHeadWeights random_weights(std::size_t kv_heads) {
  return {random_tensor<2>({6, heads * 5}, 1), random_tensor<2>({6, kv_heads * 5}, 2),
          random_tensor<2>({6, kv_heads * 3}, 3), random_tensor<2>({heads * 3, 6}, 4)};
}

/// Tokens begin, …, end − 1 of each sample.
Tensor<3> tokens(const Tensor<3>& X, std::size_t begin, std::size_t end) {
  std::vector<Tensor<2>> steps;
  for (std::size_t t = begin; t < end; ++t) steps.push_back(attn::step_of(X, t));
  return attn::stack_steps(steps);
}

}  // namespace

TEST_CASE("a cache holds new keys and values behind the old ones, head by head", "[key_value_cache]") {
  const auto K = random_tensor<4>({2, 3, 4, 5}, 1), V = random_tensor<4>({2, 3, 4, 2}, 2);
  KeyValueCache cache(2, 3, 5, 2);
  CHECK(cache.length() == 0);
  CHECK(cache.bytes() == 0);
  cache.append(K, V);
  CHECK((cache.keys() == K));
  CHECK((cache.values() == V));

  const auto more_K = random_tensor<4>({2, 3, 1, 5}, 3),
             more_V = random_tensor<4>({2, 3, 1, 2}, 4);
  cache.append(more_K, more_V);
  CHECK(cache.length() == 5);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t j = 0; j < 4; ++j) CHECK(cache.keys()(b, h, j, 4) == K(b, h, j, 4));
      CHECK(cache.keys()(b, h, 4, 0) == more_K(b, h, 0, 0));
      CHECK(cache.values()(b, h, 4, 1) == more_V(b, h, 0, 1));
    }
}

TEST_CASE("a cache takes up the bytes of its numbers", "[key_value_cache]") {
  KeyValueCache full(1, 8, 4, 6);
  KeyValueCache<float> shared(1, 2, 4, 6);
  full.append(random_tensor<4>({1, 8, 7, 4}, 1), random_tensor<4>({1, 8, 7, 6}, 2));
  shared.append(random_tensor<float, 4>({1, 2, 7, 4}, 1), random_tensor<float, 4>({1, 2, 7, 6}, 2));
  CHECK(full.bytes() == 8 * 7 * (4 + 6) * 8);
  CHECK(shared.bytes() == 2 * 7 * (4 + 6) * 4);
}

TEST_CASE("reading token by token with a cache is reading all at once", "[key_value_cache]") {
  const std::size_t kv_heads = GENERATE(1, 2, 4);
  const auto weights = random_weights(kv_heads);
  const auto X = random_tensor<3>({2, 6, 6}, 5);
  const std::optional mask = attn::repeat_mask(attn::causal_mask(6, 6), 2);
  const auto all = attn::multihead_attention(X, X, weights, heads, kv_heads, mask);

  KeyValueCache cache(2, kv_heads, 5, 3);
  const std::size_t ends[] = {3, 4, 6};  // a prefill, a token, two tokens
  std::size_t begin = 0;
  for (const auto end : ends) {
    const auto part = attn::cached_multihead_attention(tokens(X, begin, end), weights, heads, cache);
    CHECK(part.attention.weights.shape() == std::array<std::size_t, 4>{2, heads, end - begin, end});
    CHECK(attn::max_abs_difference(part.output, tokens(all.output, begin, end)) <= rounding);
    begin = end;
  }
  CHECK((cache.keys() == all.K_heads));
  CHECK((cache.values() == all.V_heads));
}

TEST_CASE("a cache that has lost a token gives another result", "[key_value_cache]") {
  const auto weights = random_weights<double>(2);
  const auto X = random_tensor<3>({1, 6, 6}, 5);
  const std::optional mask = attn::repeat_mask(attn::causal_mask(6, 6), 1);
  const auto all = attn::multihead_attention(X, X, weights, heads, 2, mask);
  KeyValueCache cache(1, 2, 5, 3);
  attn::cached_multihead_attention(tokens(X, 0, 4), weights, heads, cache);
  const auto last = attn::cached_multihead_attention(tokens(X, 5, 6), weights, heads, cache);
  CHECK(attn::max_abs_difference(last.output, tokens(all.output, 5, 6)) > 0.01);
}

TEST_CASE("a cache refuses what does not fit with both shapes, and stays as it was", "[key_value_cache]") {
  const auto K = random_tensor<4>({1, 2, 3, 4}, 1), V = random_tensor<4>({1, 2, 3, 5}, 2);
  KeyValueCache cache(1, 2, 4, 5);
  cache.append(K, V);
  CHECK_THROWS_AS(cache.append(V, V), std::invalid_argument);
  CHECK_THROWS_WITH(cache.append(K, K), Contains("1×2×3×5") && Contains("1×2×3×4"));
  CHECK_THROWS_WITH(cache.append(K, random_tensor<4>({1, 2, 2, 5}, 1)),
                    Contains("1×2×3×4") && Contains("1×2×2×5"));
  CHECK((cache.keys() == K));
  CHECK((cache.values() == V));
}

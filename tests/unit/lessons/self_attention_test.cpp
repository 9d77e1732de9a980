#include "lessons/self_attention.hpp"

#include <catch2/catch.hpp>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "lessons/multihead.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

/// For d_model = 6, d_k = 4 and d_v = 3.
lessons::ProjectionWeights random_weights() {
  return {random_tensor<2>({6, 4}, 1), random_tensor<2>({6, 4}, 2), random_tensor<2>({6, 3}, 3)};
}

}  // namespace

TEST_CASE("queries come from one side, keys and values from the other", "[self_attention]") {
  Page page("self-attention", {.sentence = {"a b c"}, .temperature = 2.0});
  const auto X_query = random_tensor<3>({2, 3, 6}, 4), X_key = random_tensor<3>({2, 5, 6}, 5);
  const std::optional mask = attn::padding_mask({5, 2}, 3, 5);
  const auto weights = random_weights();
  const auto attention =
      lessons::single_head_attention(page.mute, {"X_query", X_query}, {"X_key", X_key}, weights, mask);
  const auto expected = lessons::scaled_dot_product_attention(page.mute, attn::linear(X_query, weights.W_Q),
                                                              attn::linear(X_key, weights.W_K),
                                                              attn::linear(X_key, weights.W_V), mask);
  CHECK((attention.weights == expected.weights));
  CHECK((attention.output == expected.output));
  CHECK(attention.output.shape() == std::array<std::size_t, 3>{2, 3, 3});
}

TEST_CASE("it is multi-head attention with one head and W_O left out", "[self_attention]") {
  Page page("self-attention", {.sentence = {"a b c"}});
  const lessons::Named X = {"X", random_tensor<3>({2, 5, 6}, 4)};
  const auto weights = random_weights();
  const Tensor<2> W_O = xt::eye<double>(3);
  const auto multihead = lessons::multihead_attention(
      page.mute, X, X, {weights.W_Q, weights.W_K, weights.W_V, W_O}, {1, 1}, std::nullopt);
  CHECK((lessons::single_head_attention(page.mute, X, X, weights, std::nullopt).output == multihead.output));
}

TEST_CASE("weights that do not fit the tokens are refused", "[self_attention]") {
  Page page("self-attention", {.sentence = {"a b c"}});
  const lessons::Named X = {"X", random_tensor<3>({2, 5, 7}, 4)};
  const auto attend = [&] {
    return lessons::single_head_attention(page.mute, X, X, random_weights(), std::nullopt);
  };
  CHECK_THROWS_AS(attend(), attn::Error);
  CHECK_THROWS_WITH(attend(), Contains("W_Q is [d_model×d_k], [6×4]") && Contains("d_model has 7"));
}

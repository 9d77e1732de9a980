#include "attn/layers/single_head_attention.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/layers/multihead_attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::single_head_attention;
using attn::Tensor;
using Catch::Contains;

namespace {

/// For d_model = 6, d_k = 4 and d_v = 3.
attn::SingleHeadWeights random_weights() {
  return {random_tensor<2>({6, 4}, 1), random_tensor<2>({6, 4}, 2), random_tensor<2>({6, 3}, 3)};
}

}  // namespace

TEST_CASE("queries come from one side, keys and values from the other", "[single_head_attention]") {
  const auto X_query = random_tensor<3>({2, 3, 6}, 4),
             X_key = random_tensor<3>({2, 5, 6}, 5);
  const std::optional mask = attn::padding_mask({5, 2}, 3, 5);
  const auto weights = random_weights();
  const auto attention = single_head_attention(X_query, X_key, weights, mask, 2.0);
  const auto expected =
      attn::scaled_dot_product_attention(attn::linear(X_query, weights.W_Q), attn::linear(X_key, weights.W_K),
                                         attn::linear(X_key, weights.W_V), mask, 2.0);
  CHECK((attention.weights == expected.weights));
  CHECK((attention.output == expected.output));
  CHECK(attention.output.shape() == std::array<std::size_t, 3>{2, 3, 3});
}

TEST_CASE("it is multi-head attention with one head and W_O left out", "[single_head_attention]") {
  const auto X = random_tensor<3>({2, 5, 6}, 4);
  const auto weights = random_weights();
  const Tensor<2> W_O = xt::eye<double>(3);
  const auto multihead = attn::multihead_attention(X, X, {weights.W_Q, weights.W_K, weights.W_V, W_O}, 1, 1);
  CHECK((single_head_attention(X, X, weights).output == multihead.output));
}

TEST_CASE("weights that do not fit the tokens are refused", "[single_head_attention]") {
  const auto X = random_tensor<3>({2, 5, 7}, 4);
  CHECK_THROWS_AS(single_head_attention(X, X, random_weights<double>()), std::invalid_argument);
  CHECK_THROWS_WITH(single_head_attention(X, X, random_weights<double>()),
                    Contains("2×5×7") && Contains("6×4"));
}

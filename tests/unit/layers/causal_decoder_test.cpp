#include "attn/layers/causal_decoder.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/layers/key_value_cache.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/steps.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;
using Tokens = std::vector<std::size_t>;

namespace {

constexpr double rounding = std::is_same_v<double, double> ? 1e-12 : 1e-4;

/// Two layers of four heads, two of them for keys and values; d_model = 8, d_k = 3, d_v = 2, seven words.
attn::CausalDecoderWeights random_weights() {
  attn::CausalDecoderWeights weights{
      .layers = {}, .W_vocabulary = random_tensor<2>({8, 7}, 9), .heads = 4, .kv_heads = 2};
  for (unsigned layer = 0; layer < 2; ++layer)
    weights.layers.push_back(
        {random_tensor<2>({8, 12}, 4 * layer + 1), random_tensor<2>({8, 6}, 4 * layer + 2),
         random_tensor<2>({8, 4}, 4 * layer + 3), random_tensor<2>({8, 8}, 4 * layer + 4)});
  return weights;
}

Tensor<3> embedded(const Tokens& tokens, std::size_t first) {
  return attn::embed_tokens(random_tensor<2>({7, 8}, 20), attn::sinusoidal_encoding(12, 8),
                            tokens, first);
}

/// The logits of one more token after `known` others, read with their caches.
Tensor<2> cached_logits(Tensor<3> x, const attn::CausalDecoderWeights& weights,
                           std::vector<attn::KeyValueCache>& caches) {
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer)
    x = attn::add(
        x, attn::cached_multihead_attention(x, weights.layers[layer], weights.heads, caches[layer]).output);
  return attn::linear(attn::step_of(x, x.shape(1) - 1), weights.W_vocabulary);
}

}  // namespace

TEST_CASE("a decoder adds each layer's attention and scores the words", "[causal_decoder]") {
  const auto weights = random_weights();
  const auto x = embedded({1, 5, 0, 1}, 0);
  const auto pass = attn::causal_decoder(x, weights);
  REQUIRE(pass.layers.size() == 2);
  const auto between = attn::add(x, pass.layers[0].output);
  CHECK((pass.hidden == attn::add(between, pass.layers[1].output)));
  CHECK((pass.logits == attn::linear(pass.hidden, weights.W_vocabulary)));
  CHECK(pass.layers[0].K_heads.shape(1) == 2);
}

TEST_CASE("a later token changes nothing before it", "[causal_decoder]") {
  const auto weights = random_weights<double>();
  const auto one = attn::causal_decoder(embedded<double>({1, 5, 0, 1}, 0), weights);
  const auto other = attn::causal_decoder(embedded<double>({1, 5, 0, 6}, 0), weights);
  for (std::size_t t = 0; t < 3; ++t) CHECK((attn::step_of(one.logits, t) == attn::step_of(other.logits, t)));
  CHECK(attn::max_abs_difference(attn::step_of(one.logits, 3), attn::step_of(other.logits, 3)) > 0.01);
}

TEST_CASE("token by token, layer by layer, the cache gives the logits of the full pass", "[causal_decoder]") {
  const auto weights = random_weights();
  const auto full = attn::causal_decoder(embedded({1, 5, 0, 1, 3}, 0), weights);
  std::vector<attn::KeyValueCache> caches(2, {1, 2, 3, 2});
  std::vector<Tensor<2>> logits = {cached_logits(embedded({1, 5, 0}, 0), weights, caches),
                                             cached_logits(embedded({1}, 3), weights, caches),
                                             cached_logits(embedded({3}, 4), weights, caches)};
  CHECK(attn::deviation_from_full_pass(logits, full) <= rounding);
  logits[1](0, 2) += double(0.5);
  CHECK(attn::deviation_from_full_pass(logits, full) == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("a token that is read at the wrong position is noticed", "[causal_decoder]") {
  const auto weights = random_weights<double>();
  const auto full = attn::causal_decoder(embedded<double>({1, 5, 0, 1}, 0), weights);
  for (const std::size_t position : {0, 2, 4}) {
    std::vector<attn::KeyValueCache> caches(2, {1, 2, 3, 2});
    cached_logits(embedded<double>({1, 5, 0}, 0), weights, caches);
    const auto logits = cached_logits(embedded<double>({1}, position), weights, caches);
    CHECK(attn::deviation_from_full_pass<double>({logits}, full) > 0.01);
  }
}

TEST_CASE("more steps than rows of a full pass cannot be compared", "[causal_decoder]") {
  const auto full = attn::causal_decoder(embedded<double>({1}, 0), random_weights<double>());
  const auto logits = attn::step_of(full.logits, 0);
  CHECK(attn::deviation_from_full_pass<double>({logits}, full) == 0.0);
  CHECK_THROWS_AS(attn::deviation_from_full_pass<double>({logits, logits}, full), std::invalid_argument);
}

TEST_CASE("a token's vector is its row of the embedding and that of its position", "[causal_decoder]") {
  const Tensor<2> embedding = {{1, 2}, {3, 4}}, positions = {{10, 20}, {30, 40}, {50, 60}};
  CHECK((attn::embed_tokens(embedding, positions, {1, 0}, 1) == Tensor<3>{{{33, 44}, {51, 62}}}));
  CHECK_THROWS_WITH(attn::embed_tokens(embedding, positions, {2}, 0),
                    Contains("2 rows") && Contains("token 2"));
  CHECK_THROWS_WITH(attn::embed_tokens(embedding, positions, {1, 1}, 2),
                    Contains("3 rows") && Contains("stands at 3"));
  CHECK_THROWS_AS(attn::embed_tokens(embedding, Tensor<2>{{1, 2, 3}}, {1}, 0), std::invalid_argument);
}

TEST_CASE("greedy decoding takes the first of the best tokens", "[causal_decoder]") {
  CHECK(attn::greedy_token(Tensor<2>{{-1.0, 3.0, 2.0, 3.0}}) == 1);
  CHECK(attn::greedy_token(Tensor<float, 2>{{-1.0F}}) == 0);
}

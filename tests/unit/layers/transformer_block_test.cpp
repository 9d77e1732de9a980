#include "attn/layers/transformer_block.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/layers/transformer_block_measure.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Activation;
using attn::NormOrder;
using attn::Tensor;
using attn::transformer_block;

namespace {

constexpr std::size_t d_model = 6, d_ff = 5, n = 4, batch = 2;

attn::MultiHeadWeights attention_weights(unsigned seed) {
  return {random_tensor<2>({d_model, d_model}, seed), random_tensor<2>({d_model, d_model}, seed + 1),
          random_tensor<2>({d_model, d_model}, seed + 2),
          random_tensor<2>({d_model, d_model}, seed + 3)};
}

attn::LayerNormWeights norm_weights(unsigned seed) {
  return {random_tensor<1>({d_model}, seed), random_tensor<1>({d_model}, seed + 1)};
}

attn::TransformerBlockWeights encoder_weights() {
  return {.attention = attention_weights(10),
          .cross = {},
          .feed_forward = {random_tensor<2>({d_model, d_ff}, 20), random_tensor<1>({d_ff}, 21),
                           random_tensor<2>({d_ff, d_model}, 22), random_tensor<1>({d_model}, 23)},
          .norm_1 = norm_weights(30),
          .norm_cross = {},
          .norm_2 = norm_weights(32)};
}

attn::TransformerBlockWeights decoder_weights() {
  auto weights = encoder_weights();
  weights.cross = attention_weights(40);
  weights.norm_cross = norm_weights(50);
  return weights;
}

Tensor<3> tokens() {
  return random_tensor<3>({batch, n, d_model}, 1);
}

attn::Memory memory() {
  return {random_tensor<3>({batch, 3, d_model}, 2), attn::padding_mask({3, 2}, n, 3)};
}

std::optional<Mask<3>> causal() {
  return attn::repeat_mask(attn::causal_mask(n, n), batch);
}

Tensor<3> norm(const Tensor<3>& x, const attn::LayerNormWeights& weights) {
  return attn::layer_norm(x, weights.gain, weights.bias);
}

}  // namespace

TEST_CASE("a post-norm block normalises the sum after each sublayer", "[transformer_block]") {
  const auto X = tokens();
  const auto weights = encoder_weights();
  const auto block = transformer_block(X, weights, {2, NormOrder::post, Activation::gelu}, causal());
  const auto attention = attn::multihead_attention(X, X, weights.attention, 2, 2, causal());
  const auto norm_1 = norm(attn::add(X, attention.output), weights.norm_1);
  const auto ffn = attn::feed_forward(norm_1, weights.feed_forward, Activation::gelu);
  CHECK((block.attention.output == attention.output));
  CHECK((block.sublayer_1.norm == norm_1));
  CHECK((block.feed_forward.hidden == ffn.hidden));
  CHECK((block.sublayer_2.residual == attn::add(norm_1, ffn.output)));
  CHECK((block.output == norm(attn::add(norm_1, ffn.output), weights.norm_2)));
}

TEST_CASE("a pre-norm block normalises what each sublayer reads", "[transformer_block]") {
  const auto X = tokens();
  const auto weights = encoder_weights();
  const auto block = transformer_block(X, weights, {3, NormOrder::pre, Activation::relu});
  const auto norm_1 = norm(X, weights.norm_1);
  const auto attention = attn::multihead_attention(norm_1, norm_1, weights.attention, 3, 3);
  const auto residual_1 = attn::add(X, attention.output);
  const auto norm_2 = norm(residual_1, weights.norm_2);
  const auto ffn = attn::feed_forward(norm_2, weights.feed_forward, Activation::relu);
  CHECK((block.sublayer_1.residual == residual_1));
  CHECK((block.sublayer_2.norm == norm_2));
  CHECK((block.output == attn::add(residual_1, ffn.output)));
}

TEST_CASE("a decoder's block looks into the memory between the two", "[transformer_block]") {
  const auto X = tokens();
  const auto weights = decoder_weights();
  const auto source = memory();
  const auto post =
      transformer_block(X, weights, {2, NormOrder::post, Activation::relu}, causal(), source);
  CHECK(
      (post.cross->output ==
       attn::multihead_attention(post.sublayer_1.norm, source.X, *weights.cross, 2, 2, source.mask).output));
  CHECK((post.sublayer_cross->norm ==
         norm(attn::add(post.sublayer_1.norm, post.cross->output), *weights.norm_cross)));
  CHECK((post.feed_forward.output ==
         attn::feed_forward(post.sublayer_cross->norm, weights.feed_forward, Activation::relu).output));

  const auto pre =
      transformer_block(X, weights, {2, NormOrder::pre, Activation::relu}, causal(), source);
  CHECK((pre.sublayer_cross->norm == norm(pre.sublayer_1.residual, *weights.norm_cross)));
  CHECK((pre.sublayer_cross->residual == attn::add(pre.sublayer_1.residual, pre.cross->output)));
}

TEST_CASE("a memory without weights for it is refused, and the other way round", "[transformer_block]") {
  const auto X = tokens<double>();
  CHECK_THROWS_AS(transformer_block<double>(X, encoder_weights<double>(), {}, {}, memory<double>()),
                  std::invalid_argument);
  CHECK_THROWS_AS(transformer_block<double>(X, decoder_weights<double>(), {}), std::invalid_argument);
}

TEST_CASE("with a causal mask no token sees a later one, and without it the measure says so", "[transformer_block]") {
  const auto order = GENERATE(NormOrder::post, NormOrder::pre);
  const attn::TransformerBlockSettings settings = {2, order, Activation::gelu};
  const auto X = tokens();
  const auto source = memory();
  CHECK(attn::look_ahead(X, decoder_weights(), settings, causal(), source) == 0.0);
  CHECK(attn::look_ahead(X, encoder_weights(), settings, causal()) == 0.0);
  CHECK(attn::look_ahead(X, encoder_weights(), settings, std::nullopt) > 1e-3);
}

TEST_CASE("a block of one token has no earlier one to change", "[transformer_block]") {
  const auto X = random_tensor<3>({1, 1, d_model}, 1);
  CHECK(attn::look_ahead<double>(X, encoder_weights<double>(), {}, std::nullopt) == 0.0);
}

TEST_CASE("X goes straight through a pre-norm block, and through a post-norm block it does not", "[transformer_block]") {
  const auto X = tokens();
  const auto source = memory();
  const auto weights = decoder_weights();
  const auto run = [&](NormOrder order) {
    return transformer_block(X, weights, {1, order, Activation::relu}, {}, source);
  };
  CHECK(attn::deviation_from_sum(X, run(NormOrder::pre)) <= 1e-4);
  CHECK(attn::deviation_from_sum(X, run(NormOrder::post)) > 0.1);
}

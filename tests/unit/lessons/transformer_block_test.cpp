#include "lessons/transformer_block.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/activation.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "lessons/transformer_block/claims.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using lessons::Options;

namespace {

constexpr std::size_t d_model = 6, d_ff = 5, n = 4, batch = 2;

lessons::MultiHeadWeights attention_weights(unsigned seed) {
  return {random_tensor<2>({d_model, d_model}, seed), random_tensor<2>({d_model, d_model}, seed + 1),
          random_tensor<2>({d_model, d_model}, seed + 2), random_tensor<2>({d_model, d_model}, seed + 3)};
}

attn::LayerNormWeights norm_weights(unsigned seed) {
  return {random_tensor<1>({d_model}, seed), random_tensor<1>({d_model}, seed + 1)};
}

lessons::FeedForwardWeights feed_forward_weights() {
  return {random_tensor<2>({d_model, d_ff}, 20), random_tensor<1>({d_ff}, 21),
          random_tensor<2>({d_ff, d_model}, 22), random_tensor<1>({d_model}, 23)};
}

lessons::TransformerBlockWeights encoder_weights() {
  return {.attention = attention_weights(10),
          .feed_forward = feed_forward_weights(),
          .norm_1 = norm_weights(30),
          .norm_2 = norm_weights(32)};
}

lessons::TransformerBlockWeights decoder_weights() {
  auto weights = encoder_weights();
  weights.cross = attention_weights(40);
  weights.norm_cross = norm_weights(50);
  return weights;
}

Options options(const std::string& norm_order, const std::string& activation) {
  return {.sentence = {"a b c d", "e f g h"},
          .d_model = d_model,
          .heads = 2,
          .d_ff = d_ff,
          .activation = activation,
          .norm_order = norm_order};
}

Tensor<3> tokens() {
  return random_tensor<3>({batch, n, d_model}, 1);
}

Tensor<3> memory() {
  return random_tensor<3>({batch, 3, d_model}, 2);
}

std::optional<Mask<3>> causal() {
  return attn::repeat_mask(attn::causal_mask(n, n), batch);
}

std::vector<double> norm(const Tensor<3>& x, const attn::LayerNormWeights& weights) {
  return elements(attn::layer_norm(x, weights.gain, weights.bias));
}

Tensor<3> tensor(const std::vector<double>& numbers) {
  Tensor<3> result({batch, n, d_model});
  std::copy(numbers.begin(), numbers.end(), result.begin());
  return result;
}

attn::AnyTensor given(const Tensor<1>& vector) {
  return attn::AnyTensor(attn::view_of(vector));
}

}  // namespace

TEST_CASE("a post-norm block normalises the sum after each sublayer", "[transformer_block]") {
  Page page("transformer-block", options("post", "gelu"));
  const auto X = tokens();
  const auto weights = encoder_weights();
  const auto block = lessons::apply_block(page.bench, {"X", X}, weights, causal());
  const auto attention =
      lessons::multihead_attention(page.mute, {"X", X}, {"X", X}, weights.attention, causal());
  CHECK((block.attention.output == attention.output));
  const auto norm_1 = norm(attn::add(X, attention.output), weights.norm_1);
  CHECK(page.told.elements("norm_1") == norm_1);
  const auto ffn = lessons::feed_forward(page.mute, {"norm_1", tensor(norm_1)}, weights.feed_forward);
  CHECK((block.feed_forward.hidden == ffn.hidden));
  const auto residual_2 = attn::add(tensor(norm_1), ffn.output);
  CHECK(page.told.elements("residual_2") == elements(residual_2));
  CHECK(elements(block.output) == norm(residual_2, weights.norm_2));
  CHECK(page.trace.all_claims_hold());
}

TEST_CASE("a pre-norm block normalises what each sublayer reads", "[transformer_block]") {
  Page page("transformer-block", options("pre", "relu"));
  const auto X = tokens();
  const auto weights = encoder_weights();
  const auto block = lessons::apply_block(page.bench, {"X", X}, weights, std::nullopt);
  const lessons::Named norm_1 = {"norm_1", tensor(norm(X, weights.norm_1))};
  const auto attention =
      lessons::multihead_attention(page.mute, norm_1, norm_1, weights.attention, std::nullopt);
  const auto residual_1 = attn::add(X, attention.output);
  CHECK(page.told.elements("residual_1") == elements(residual_1));
  const auto norm_2 = norm(residual_1, weights.norm_2);
  CHECK(page.told.elements("norm_2") == norm_2);
  const auto ffn = lessons::feed_forward(page.mute, {"norm_2", tensor(norm_2)}, weights.feed_forward);
  CHECK((block.output == attn::add(residual_1, ffn.output)));
  CHECK(page.trace.all_claims_hold());
}

TEST_CASE("a decoder's block looks into the memory between the two", "[transformer_block]") {
  const auto X = tokens();
  const auto weights = decoder_weights();
  Page post("transformer-block", options("post", "relu"));
  const auto block = lessons::apply_block(post.bench, {"X", X}, weights, causal(), memory());
  const lessons::Named norm_1 = {"norm_1", tensor(post.told.elements("norm_1"))};
  CHECK((block.cross->output ==
         lessons::multihead_attention(post.mute, norm_1, {"memory", memory()}, *weights.cross, std::nullopt)
             .output));
  const auto norm_cross = norm(attn::add(norm_1.tensor, block.cross->output), *weights.norm_cross);
  CHECK(post.told.elements("norm_cross") == norm_cross);
  CHECK((block.feed_forward.output ==
         lessons::feed_forward(post.mute, {"norm_cross", tensor(norm_cross)}, weights.feed_forward).output));

  Page pre("transformer-block", options("pre", "relu"));
  const auto other = lessons::apply_block(pre.bench, {"X", X}, weights, causal(), memory());
  const auto residual_1 = tensor(pre.told.elements("residual_1"));
  CHECK(pre.told.elements("norm_cross") == norm(residual_1, *weights.norm_cross));
  CHECK(pre.told.elements("residual_cross") == elements(attn::add(residual_1, other.cross->output)));
}

TEST_CASE("a memory without weights for it is refused, and the other way round", "[transformer_block]") {
  Page page("transformer-block", options("post", "relu"));
  const lessons::Named X = {"X", tokens()};
  CHECK_THROWS_AS(lessons::apply_block(page.mute, X, encoder_weights(), {}, memory()), std::invalid_argument);
  CHECK_THROWS_AS(lessons::apply_block(page.mute, X, decoder_weights(), {}), std::invalid_argument);
}

TEST_CASE("with a causal mask no token sees a later one, and without it the measure says so",
          "[transformer_block]") {
  Page page("transformer-block", options(GENERATE("post", "pre"), "gelu"));
  const auto X = tokens();
  const auto look_ahead = [&](const lessons::TransformerBlockWeights& weights,
                              const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
    const auto block = lessons::apply_block(page.mute, {"X", X}, weights, mask, memory);
    return lessons::look_ahead(page.mute, X, weights, mask, memory, block.output);
  };
  CHECK(look_ahead(decoder_weights(), causal(), memory()) == 0.0);
  CHECK(look_ahead(encoder_weights(), causal(), {}) == 0.0);
  CHECK(look_ahead(encoder_weights(), std::nullopt, {}) > 1e-3);
}

TEST_CASE("a block of one token has no earlier one to change", "[transformer_block]") {
  Page page("transformer-block", {.sentence = {"a"}, .d_model = d_model, .heads = 2, .d_ff = d_ff});
  const auto X = random_tensor<3>({1, 1, d_model}, 1);
  const auto block = lessons::apply_block(page.mute, {"X", X}, encoder_weights(), std::nullopt);
  CHECK(lessons::look_ahead(page.mute, X, encoder_weights(), std::nullopt, {}, block.output) == 0.0);
}

TEST_CASE("X goes straight through a pre-norm block, and through a post-norm block it does not",
          "[transformer_block]") {
  const auto X = tokens();
  const auto deviation = [&](const std::string& order) {
    Page page("transformer-block", options(order, "relu"));
    return lessons::deviation_from_sum(
        X, lessons::apply_block(page.mute, {"X", X}, decoder_weights(), {}, memory()));
  };
  CHECK(deviation("pre") <= 1e-12);
  CHECK(deviation("post") > 0.1);
}

TEST_CASE("a given mask that shows what comes later does not undo --causal", "[transformer_block]") {
  const Options options = {.sentence = {"a b c"}, .heads = 2, .causal = true};
  const auto run = [&](const Mask<2>& mask) {
    return told_by("transformer-block", options, {{"attention/mask", attn::AnyTensor(attn::view_of(mask))}});
  };
  for (const auto& told : {run({{true, true, true}, {true, true, true}, {true, true, true}}),
                           run({{true, false, false}, {false, true, false}, {true, false, true}})}) {
    CHECK(told.kinds.at("no-look-ahead") == attn::Kind::claim);
    for (const auto& [id, measurement] : told.measurements) {
      INFO(id);
      CHECK(measurement.holds());
    }
  }
}

TEST_CASE("a step of a block that is off by 1 % is noticed", "[transformer_block]") {
  const Options options = {.sentence = {"a b c"}, .heads = 2, .causal = true, .norm_order = "pre"};
  for (const auto* step : {"norm_1", "attention/weights", "attention/output", "residual_1", "ffn/hidden",
                           "ffn/output", "output"}) {
    INFO(step);
    const auto told = told_by("transformer-block", options, {}, one_percent_more(step));
    CHECK_FALSE(told.holds("equals-layer"));
  }
  const auto changed = [&](const std::string& step) {
    return told_by("transformer-block", options, {}, one_percent_more(step));
  };
  CHECK_FALSE(changed("norm_2").holds("norm_2/mean-and-variance"));
  CHECK_FALSE(changed("attention/weights").holds("attention/rows-sum-to-1"));
  CHECK_FALSE(changed("ffn/output").holds("ffn/mixes-no-tokens"));
  CHECK_FALSE(changed("residual_1").holds("straight-way"));
  CHECK_FALSE(changed("output").holds("no-look-ahead"));
}

TEST_CASE("gain and bias are undone before mean and variance are measured, where they can be",
          "[transformer_block]") {
  const Options options = {.sentence = {"a b"}, .d_model = 4, .heads = 2, .model = "none"};
  const Tensor<1> bias = {3, -3, 0, 5}, gain = {2, 0.5, -1, 4}, with_zero = {2, 0, 1, 1};
  const auto run = [&](const Tensor<1>& gains) {
    return told_by("transformer-block", options,
                   {{"norm_1/gain", given(gains)}, {"norm_1/bias", given(bias)}});
  };
  CHECK(run(gain).holds("norm_1/mean-and-variance"));
  CHECK(run(with_zero).kinds.at("norm_1/mean-and-variance") == attn::Kind::note);
}

TEST_CASE("the feed-forward network by hand", "[feed_forward]") {
  Page page("transformer-block", options("post", "relu"));
  const lessons::FeedForwardWeights weights = {
      {{1, -1, 2}, {0, 1, 1}}, {0, 1, -10}, {{1, 2}, {3, 4}, {5, 6}}, {10, 20}};
  const auto result = lessons::feed_forward(page.mute, {"x", {{{1, 2}, {-3, 1}}}}, weights);
  CHECK((result.hidden == Tensor<3>{{{1, 2, 0}, {0, 5, 0}}}));
  CHECK((result.output == Tensor<3>{{{17, 30}, {25, 40}}}));
}

TEST_CASE("the feed-forward network treats every token by itself", "[feed_forward]") {
  Page page("transformer-block", options("post", GENERATE("relu", "gelu")));
  const auto x = random_tensor<3>({2, 5, d_model}, 5);
  const auto order = attn::reversal({5, 3}, 5);
  const auto weights = feed_forward_weights();
  const auto output = [&](const Tensor<3>& rows) {
    return lessons::feed_forward(page.mute, {"x", rows}, weights).output;
  };
  CHECK((output(attn::permute_rows(x, order)) == attn::permute_rows(output(x), order)));
}

TEST_CASE("the claim that no tokens are mixed fails where they are", "[feed_forward]") {
  const auto told =
      told_by("transformer-block", options("post", "relu"), {},
              attn::replacing([](const std::string& step, const attn::Shape&, double* elements) {
                if (step == "ffn/output") elements[0] += elements[d_model];
              }));
  CHECK_FALSE(told.holds("ffn/mixes-no-tokens"));
}

TEST_CASE("the claim that GELU is near ReLU fails for another function", "[feed_forward]") {
  const auto told =
      told_by("transformer-block", options("post", "gelu"), {},
              attn::replacing([](const std::string& step, const attn::Shape&, double* elements) {
                if (step == "ffn/hidden") elements[0] -= 0.4;
              }));
  CHECK_FALSE(told.holds("ffn/gelu-is-near-relu"));
}

TEST_CASE("a bias of another length is refused with both shapes", "[feed_forward]") {
  Page page("transformer-block", options("post", "relu"));
  auto weights = feed_forward_weights();
  weights.b_1 = random_tensor<1>({d_ff + 1}, 1);
  const lessons::Named x = {"x", random_tensor<3>({1, 2, d_model}, 5)};
  CHECK_THROWS_AS(lessons::feed_forward(page.mute, x, weights), std::invalid_argument);
  CHECK_THROWS_WITH(lessons::feed_forward(page.mute, x, weights),
                    Contains("[linear]") && Contains("6×5") && Contains("bias is 6"));
}

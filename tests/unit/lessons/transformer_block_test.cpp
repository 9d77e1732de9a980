#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/random_tensor.hpp"
#include "tests/unit/watches.hpp"

using attn::Mask;
using attn::Tensor;
using lessons::Options;
using lessons::owned_view;

namespace {

constexpr std::size_t d_model = 6, d_ff = 5, n = 4, batch = 2;

struct Norm {
  Tensor<1> gain, bias;
};

struct Network {
  Tensor<2> W_1;
  Tensor<1> b_1;
  Tensor<2> W_2;
  Tensor<1> b_2;
};

Views attention_weights(unsigned seed, const std::string& group = "") {
  Views weights;
  for (const auto* id : {"W_Q", "W_K", "W_V", "W_O"})
    weights.emplace(group + id, owned_view(random_tensor<2>({d_model, d_model}, seed++)));
  return weights;
}

Norm norm_weights(unsigned seed) {
  return {random_tensor<1>({d_model}, seed), random_tensor<1>({d_model}, seed + 1)};
}

const Norm norm_1 = norm_weights(30), norm_2 = norm_weights(32), norm_cross = norm_weights(50);

const Network network = {random_tensor<2>({d_model, d_ff}, 20), random_tensor<1>({d_ff}, 21),
                         random_tensor<2>({d_ff, d_model}, 22), random_tensor<1>({d_model}, 23)};

Views block_weights() {
  auto weights = attention_weights(10, "attention/");
  weights.merge(attention_weights(40, "cross/"));
  weights.merge(Views{{"W_1", owned_view(network.W_1)},
                      {"b_1", owned_view(network.b_1)},
                      {"W_2", owned_view(network.W_2)},
                      {"b_2", owned_view(network.b_2)}});
  for (const auto& [name, norm] :
       {std::pair("norm_1", norm_1), std::pair("norm_2", norm_2), std::pair("norm_cross", norm_cross)}) {
    weights.emplace(std::string(name) + "/gain", owned_view(norm.gain));
    weights.emplace(std::string(name) + "/bias", owned_view(norm.bias));
  }
  return weights;
}

/// Tells a block, the part block.md, with its claims.
void tell(Page& page, const Tensor<3>& X, const std::optional<Mask<3>>& mask,
          const std::optional<Tensor<3>>& memory = std::nullopt) {
  const lessons::Functions none;
  const auto weights = block_weights();
  lessons::DocumentRun run(page.bench, none);
  set_view(run, "X", {"batch", "token", "d_model"}, X);
  for (const auto* const axis : {"query", "key"}) run.axis(axis, X.shape(1));
  run.set("decoder", memory.has_value());
  set_multihead_weights(run, "attention/", weights, {2, 2});
  std::map<std::string, formula::Axes> axes = {
      {"W_1", {"d_model", "d_ff"}}, {"b_1", {"d_ff"}}, {"W_2", {"d_ff", "d_model"}}, {"b_2", {"d_model"}}};
  std::vector<std::string> norms = {"norm_1/", "norm_2/"};
  if (memory) {
    set_view(run, "memory", {"batch", "source", "d_model"}, *memory);
    run.axis("cross/key", memory->shape(1));
    set_multihead_weights(run, "cross/", weights, {2, 2});
    norms.emplace_back("norm_cross/");
  }
  for (const auto& name : norms)
    for (const auto* const id : {"gain", "bias"}) axes[name + id] = {"d_model"};
  set_views(run, "", weights, axes);
  set_mask(run, mask, "attention/");
  run.tell_part("parts/block.md");
  run.tell_part("parts/block_claims.md");
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

Tensor<3> norm(const Tensor<3>& x, const Norm& weights) {
  return attn::layer_norm(x, weights.gain, weights.bias);
}

Tensor<3> step(const Page& page, const std::string& id, std::size_t width = d_model) {
  const auto numbers = page.told.elements(id);
  Tensor<3> result({batch, n, width});
  REQUIRE(numbers.size() == result.size());
  std::copy(numbers.begin(), numbers.end(), result.begin());
  return result;
}

template <class Activation>
Tensor<3> hidden(Activation activation, const Tensor<3>& x) {
  auto result = attn::linear(x, network.W_1, network.b_1);
  std::transform(result.begin(), result.end(), result.begin(), activation);
  return result;
}

double plain_relu(double x) {
  return std::max(x, 0.0);
}

double plain_gelu(double x) {
  return x / 2.0 * std::erfc(-x / std::numbers::sqrt2);
}

void check_close(const Tensor<3>& a, const Tensor<3>& b) {
  CHECK(attn::max_abs_difference(a, b) <= 1e-12);
}

attn::AnyTensor given(const Tensor<1>& vector) {
  return attn::AnyTensor(attn::view_of(vector));
}

}  // namespace

TEST_CASE("a post-norm block normalises the sum after each sublayer", "[transformer_block]") {
  Page page("transformer-block", options("post", "gelu"));
  const auto X = tokens();
  tell(page, X, causal());
  const auto attention = multihead(page, X, X, attention_weights(10), {2, 2}, causal());
  check_close(step(page, "attention/output"), attention.output);
  const auto normed = step(page, "norm_1");
  check_close(normed, norm(X + attention.output, norm_1));
  check_close(step(page, "ffn/hidden", d_ff), hidden(plain_gelu, normed));
  const auto residual_2 = step(page, "residual_2");
  check_close(residual_2, normed + step(page, "ffn/output"));
  check_close(step(page, "output"), norm(residual_2, norm_2));
  CHECK(page.trace.all_claims_hold());
}

TEST_CASE("a pre-norm block normalises what each sublayer reads", "[transformer_block]") {
  Page page("transformer-block", options("pre", "relu"));
  const auto X = tokens();
  tell(page, X, std::nullopt);
  const auto normed = norm(X, norm_1);
  const auto attention = multihead(page, normed, normed, attention_weights(10), {2, 2});
  const auto residual_1 = step(page, "residual_1");
  check_close(residual_1, X + attention.output);
  check_close(step(page, "norm_2"), norm(residual_1, norm_2));
  check_close(step(page, "ffn/hidden", d_ff), hidden(plain_relu, step(page, "norm_2")));
  check_close(step(page, "output"), residual_1 + step(page, "ffn/output"));
  CHECK(page.trace.all_claims_hold());
}

TEST_CASE("a decoder's block looks into the memory between the two", "[transformer_block]") {
  const auto X = tokens();
  Page post("transformer-block", options("post", "relu"));
  tell(post, X, causal(), memory());
  const auto looks_into_memory = [&](const Page& page, const Tensor<3>& reads) {
    return multihead(page, reads, memory(), attention_weights(40), {2, 2}).output;
  };
  check_close(step(post, "cross/output"), looks_into_memory(post, step(post, "norm_1")));
  check_close(step(post, "norm_cross"), norm(step(post, "norm_1") + step(post, "cross/output"), norm_cross));

  Page pre("transformer-block", options("pre", "relu"));
  tell(pre, X, causal(), memory());
  check_close(step(pre, "norm_cross"), norm(step(pre, "residual_1"), norm_cross));
  check_close(step(pre, "cross/output"), looks_into_memory(pre, step(pre, "norm_cross")));
  check_close(step(pre, "residual_cross"), step(pre, "residual_1") + step(pre, "cross/output"));
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

TEST_CASE("the feed-forward network by hand", "[transformer_block]") {
  const Options options = {.sentence = {"a b"}, .d_model = 2, .heads = 1, .d_ff = 3, .model = "none"};
  const auto matrix = [](const Tensor<2>& numbers) { return attn::AnyTensor(attn::view_of(numbers)); };
  const auto told = told_by("transformer-block", options,
                            {{"norm_1/gain", given({0, 0})},
                             {"norm_1/bias", given({1, 2})},
                             {"W_1", matrix({{1, -1, 2}, {0, 1, 1}})},
                             {"b_1", given({0, 1, -10})},
                             {"W_2", matrix({{1, 2}, {3, 4}, {5, 6}})},
                             {"b_2", given({10, 20})}});
  CHECK(told.elements("ffn/hidden") == std::vector<double>{1, 2, 0, 1, 2, 0});
  CHECK(told.elements("ffn/output") == std::vector<double>{17, 30, 17, 30});
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

#include "lessons/transformer_block/claims.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attn/ops/activation.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/transformer_block/sublayers.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

using attn::Activation;

namespace {

/// Above the largest |GELU(x) − max(0, x)|, that of x = ±0.7518.
constexpr double farthest_gelu = 0.16998;

/// The largest |bias / gain|: infinite where a gain is 0.
double largest_shift(const attn::LayerNormWeights& weights) {
  double largest = 0.0;
  for (std::size_t c = 0; c < weights.gain.size(); ++c)
    largest = attn::maximum({largest, weights.gain(c) == 0.0 ? std::numeric_limits<double>::infinity()
                                                             : std::abs(weights.bias(c) / weights.gain(c))});
  return largest;
}

/// (norm − bias) / gain: the rows as they were before gain and bias.
Tensor<3> before_gain_and_bias(Tensor<3> norm, const attn::LayerNormWeights& weights) {
  const auto d = weights.gain.size();
  for (std::size_t i = 0; i < norm.size(); ++i)
    norm.data()[i] = (norm.data()[i] - weights.bias(i % d)) / weights.gain(i % d);
  return norm;
}

}  // namespace

void claim_layer_norm(Workbench& bench, const Named& norm, const Named& x,
                      const attn::LayerNormWeights& weights) {
  const auto id = norm.id + "/mean-and-variance";
  const auto limit = rounding(bench.trace, attn::max_abs(x.tensor) + largest_shift(weights));
  if (limit.bound > 0.01) {
    bench.trace.note(
        id, "What the rows were before gain and bias cannot be told",
        fmt::format(
            "Layer norm makes rows of mean 0 and variance 1, and gain and bias follow. With the numbers "
            "of this run rounding alone may move what is read back from {} by {:g}, so nothing is "
            "claimed of it.",
            norm.id, limit.bound));
    return;
  }
  bench.trace.claim(
      {.id = id,
       .claim = norm.id + " before gain: mean 0, variance v / (v + 1e−05)",
       .formula = "max(|mean|, |variance − v / (v + 1e-5)|), v that of " + x.id,
       .value = attn::standardization_deviation(before_gain_and_bias(norm.tensor, weights), x.tensor),
       .limit = limit});
}

void claim_feed_forward(Workbench& bench, const Named& x, const FeedForward& shown,
                        const FeedForwardWeights& weights) {
  auto mute = bench.mute();
  const auto& sentence = bench.plan.sentence;
  const auto backwards = attn::reversal(sentence.lengths(), sentence.length());
  const auto reversed = feed_forward(mute, {x.id, attn::permute_rows(x.tensor, backwards)}, weights);
  const auto before = attn::linear(x.tensor, weights.W_1, weights.b_1);
  const double magnitude = attn::max_abs(before);
  bench.trace.claim(
      {.id = "ffn/mixes-no-tokens",
       .claim = "ffn mixes no tokens: reordered, each gets the same",
       .formula = "max |reverse(ffn(reverse(x))) − ffn(x)|",
       .value = attn::max_abs_difference(attn::permute_rows(reversed.output, backwards), shown.output),
       .limit = rounding(bench.trace, magnitude * attn::max_abs(weights.W_2))});
  if (activation_of(bench) == Activation::gelu)
    bench.trace.claim({.id = "ffn/gelu-is-near-relu",
                       .claim = "GELU is nowhere further than 0.17 from ReLU",
                       .formula = "max |GELU(x W_1 + b_1) − max(0, x W_1 + b_1)|",
                       .value = attn::max_abs_difference(shown.hidden, attn::relu(before)),
                       .limit = attn::at_most(std::max(
                           0.17, farthest_gelu + attn::largest_rounding_error(
                                                     bench.trace.dtype(), attn::max_abs(shown.hidden))))});
}

namespace {

/// Each number x of the last token of each sample becomes 1 − x: a change that no layer norm undoes, as it
/// would undo the same number added to all.
Tensor<3> with_another_last_token(Tensor<3> X) {
  const std::size_t last = X.shape(1) - 1;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t c = 0; c < X.shape(2); ++c) X(b, last, c) = 1.0 - X(b, last, c);
  return X;
}

}  // namespace

double look_ahead(Workbench& mute, const Tensor<3>& X, const TransformerBlockWeights& weights,
                  const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory,
                  const Tensor<3>& output) {
  const auto changed = apply_block(mute, {"X", with_another_last_token(X)}, weights, mask, memory);
  const auto earlier = X.shape(1) - 1;
  return attn::max_abs_difference(attn::first_rows(changed.output, earlier),
                                  attn::first_rows(output, earlier));
}

double deviation_from_sum(const Tensor<3>& X, const TransformerBlock& block) {
  auto found = attn::add(block.attention.output, block.feed_forward.output);
  if (block.cross) found = attn::add(found, block.cross->output);
  return attn::max_abs_difference(attn::add(X, found), block.output);
}

namespace {

void claim_no_look_ahead(Workbench& bench, const Tensor<3>& X, const TransformerBlockWeights& weights,
                         const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory,
                         const Tensor<3>& output) {
  auto mute = bench.mute();
  bench.trace.claim(
      {.id = "no-look-ahead",
       .claim = "another last token changes no earlier row of the output, not in a single bit",
       .formula = "max |transformer_block(X with another last token) − output|, last row left out",
       .value = look_ahead(mute, X, weights, mask, memory, output),
       .limit = attn::exactly(0.0),
       .note = X.shape(1) == 1 ? "There is one token only, so nothing is earlier." : ""});
}

/// The numbers that a pre-norm block adds up may be larger than their sum.
double magnitude_of_sum(const Tensor<3>& X, const TransformerBlock& block) {
  const double found = attn::maximum({attn::max_abs(block.attention.output),
                                      block.cross ? attn::max_abs(block.cross->output) : 0.0,
                                      attn::max_abs(block.feed_forward.output)});
  return attn::max_abs(X) + attn::maximum({found, attn::max_abs(block.output)});
}

}  // namespace

void claim_block(Workbench& bench, const Tensor<3>& X, const TransformerBlockWeights& weights,
                 const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory,
                 const TransformerBlock& block) {
  auto mute = bench.mute();
  bench.trace.claim(
      {.id = "equals-layer",
       .claim = "the whole block, computed once more from X, gives the same output, bit for bit",
       .formula = "max |transformer_block(X) − output|",
       .value =
           attn::max_abs_difference(apply_block(mute, {"X", X}, weights, mask, memory).output, block.output),
       .limit = attn::exactly(0.0)});
  if (norm_order_of(bench) == NormOrder::pre)
    bench.trace.claim({.id = "straight-way",
                       .claim = "X reaches the output untouched: the sublayers only add to it",
                       .formula = memory ? "max |X + (attention/output + cross/output + ffn/output) − output|"
                                         : "max |X + (attention/output + ffn/output) − output|",
                       .value = deviation_from_sum(X, block),
                       .limit = rounding(bench.trace, magnitude_of_sum(X, block))});
  if (bench.options.causal) claim_no_look_ahead(bench, X, weights, mask, memory, block.output);
}

}  // namespace lessons

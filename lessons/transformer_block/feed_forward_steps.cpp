#include "lessons/transformer_block/feed_forward_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

using attn::Activation;

void claim_feed_forward(Workbench& bench, const Tensor<3>& x, const Tensor<3>& output,
                        const attn::FeedForwardWeights& weights) {
  const auto before = attn::linear(x, weights.W_1, weights.b_1);
  const auto activation = activation_of(bench);
  const auto backwards = attn::reversal(bench.plan.sentence.lengths(), bench.plan.sentence.length());
  const auto reversed = attn::feed_forward(attn::permute_rows(x, backwards), weights, activation);
  bench.trace.claim(
      {.id = "ffn/mixes-no-tokens",
       .claim = "the feed-forward network mixes no tokens: in another order each gets the same",
       .formula = "max |reverse(ffn(reverse(x))) − ffn(x)|",
       .value = attn::max_abs_difference(attn::permute_rows(reversed.output, backwards), output),
       .limit = rounding(bench.trace, attn::max_abs(before) * attn::max_abs(weights.W_2))});
  if (activation == Activation::gelu)
    bench.trace.claim({.id = "ffn/gelu-is-near-relu",
                       .claim = "GELU is nowhere further than 0.17 from ReLU",
                       .formula = "max |GELU(x W_1 + b_1) − max(0, x W_1 + b_1)|",
                       .value = attn::max_abs_difference(attn::gelu(before), attn::relu(before)),
                       .limit = attn::at_most(0.17)});
}

}  // namespace

attn::Activation activation_of(const Workbench& bench) {
  return bench.options.activation == "gelu" ? Activation::gelu : Activation::relu;
}

attn::FeedForwardWeights draw_feed_forward_weights(Workbench& bench) {
  const auto d_model = bench.d_model(), d_ff = bench.options.d_ff.value();
  auto W_1 = bench.weight({.id = "W_1",
                           .title = "Widens each token",
                           .axes = {"d_model", "d_ff"},
                           .note = "Each column looks for one direction in a token's row."},
                          d_model, d_ff);
  auto b_1 = bench.constant({.id = "b_1", .title = "Learned shift, at first 0", .axes = {"d_ff"}}, d_ff, 0.0);
  auto W_2 =
      bench.weight({.id = "W_2",
                    .title = "Brings it back",
                    .axes = {"d_ff", "d_model"},
                    .note = "Each row is what its column of W_1 adds to the token where it has found it."},
                   d_ff, d_model);
  auto b_2 =
      bench.constant({.id = "b_2", .title = "Learned shift, at first 0", .axes = {"d_model"}}, d_model, 0.0);
  return {std::move(W_1), std::move(b_1), std::move(W_2), std::move(b_2)};
}

Named show_feed_forward(Workbench& bench, const Named& x,
                           const attn::FeedForwardWeights& weights) {
  const auto activation = activation_of(bench);
  const bool is_relu = activation == Activation::relu;
  auto& trace = bench.trace;
  const auto hidden = trace.step(
      {.id = "ffn/hidden",
       .title = "What each token contains, direction by direction",
       .formula = fmt::format(fmt::runtime(is_relu ? "max(0, {} W_1 + b_1)"
                                                   : "GELU({} W_1 + b_1), GELU(x) = x/2 · (1 + erf(x / √2))"),
                              x.id),
       .from = {x.id, "W_1", "b_1"},
       .axes = {"token", "d_ff"},
       .note =
           is_relu
               ? "ReLU lets through what is positive and cuts off the rest. Without it W_1 and W_2 would be "
                 "no more than one matrix."
               : "GELU weighs x with Φ(x), the share of a normal distribution below x. It is smooth where "
                 "ReLU has a corner, and lets a little of what is negative through: at least −0.17. Many "
                 "programs replace erf by a formula with tanh, which is off by less than 0.0005."},
      attn::activate(activation, attn::linear(x.tensor, weights.W_1, weights.b_1)));
  if (is_relu)
    trace.note("ffn/zeros", "How much ReLU cuts off",
               fmt::format("{} of the {} numbers of ffn/hidden are 0. Which ones they are differs from token "
                           "to token: each token works with its own part of W_1 and W_2.",
                           std::count(hidden.begin(), hidden.end(), double{0}), hidden.size()));
  const auto output = trace.step({.id = "ffn/output",
                                  .title = "What each token adds to itself",
                                  .formula = "ffn/hidden W_2 + b_2",
                                  .from = {"ffn/hidden", "W_2", "b_2"},
                                  .axes = {"token", "d_model"},
                                  .note = "Every row comes from its own token only."},
                                 attn::linear(hidden, weights.W_2, weights.b_2));
  claim_feed_forward(bench, x.tensor, output, weights);
  return {"ffn/output", output};
}


}  // namespace lessons

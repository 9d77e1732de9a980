/// Back through a block of a transformer (Vaswani et al. 2017, section 3.1): residual connections hand their
/// gradient on to both of their sides, and where a tensor went two ways its two gradients add up.

#include "lessons/backward/transformer_block.hpp"

#include <fmt/format.h>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/linear_backward.hpp"
#include "attn/ops/matmul.hpp"
#include "lessons/backward/mistakes.hpp"
#include "lessons/backward/projections.hpp"

namespace lessons {

bool is_pre_norm(const Workbench& bench) {
  return bench.options.norm_order == "pre";
}

attn::Activation activation_of(const Workbench& bench) {
  return bench.options.activation == "gelu" ? attn::Activation::gelu : attn::Activation::relu;
}

BlockKept BlockKept::of(const Workbench& bench, const Tensor<3>& X, const TransformerBlock& forward,
                        const std::optional<Mask<3>>& mask) {
  const Named reads = is_pre_norm(bench) ? Named{"norm_1", forward.around_attention.norm} : Named{"X", X};
  return {X, MultiHeadKept::of(reads, reads, forward.attention, mask), forward.around_attention,
          forward.around_feed_forward, forward.feed_forward.hidden};
}

namespace {

/// "d_residual_2 + …": with the gradient that comes by another way.
std::string plus_besides(const std::optional<Named>& besides, const std::string& formula) {
  return besides ? besides->id + " + " + formula : formula;
}

attn::WorkedOut worked_besides(const std::optional<Named>& besides, const attn::WorkedOut& worked) {
  if (!besides) return worked;
  return [=, other = attn::Known<3>{besides->id, besides->tensor}](const attn::Index& at) {
    return attn::Worked::sum({other(at), worked(at)});
  };
}

Tensor<3> with_besides(const std::optional<Named>& besides, Tensor<3> gradient) {
  return besides ? attn::add(besides->tensor, gradient) : gradient;
}

std::vector<std::string> with_besides(const std::optional<Named>& besides, std::vector<std::string> from) {
  if (besides) from.insert(from.begin(), besides->id);
  return from;
}

/// The gradient of one side of a residual connection: that of the sum.
Tensor<3> through_sum(Gradients& gradients, const std::string& of, const std::string& title,
                      const Named& d_sum) {
  return gradients.show(of,
                        {.title = title,
                         .formula = d_sum.id,
                         .from = {d_sum.id},
                         .axes = {"token", "d_model"},
                         .note = "A sum hands its gradient on as it is, to both of its sides.",
                         .worked = attn::Known<3>{d_sum.id, d_sum.tensor}},
                        d_sum.tensor);
}

}  // namespace

Tensor<3> layer_norm_back(Gradients& gradients, const Named& x, const std::string& norm,
                          const attn::LayerNormWeights& weights, const Named& d_y,
                          const std::optional<Named>& besides) {
  auto [d_x, d_gain, d_bias] = attn::layer_norm_backward(x.tensor, weights.gain, d_y.tensor);
  const attn::Known<3> known_x{x.id, x.tensor}, known_d_y{d_y.id, d_y.tensor};
  const auto standardized = fmt::format("standardize({})", x.id);
  gradients.show(norm + "/gain",
                 {.title = "How the loss changes with the gain",
                  .formula = fmt::format("Σ {} · {} over all words", d_y.id, standardized),
                  .from = {d_y.id, x.id},
                  .axes = {"d_model"},
                  .note = "One gain serves a column of all words, so their gradients add up.",
                  .worked = attn::worked_layer_norm_backward_gain(known_x, known_d_y)},
                 d_gain, mistakes_of_gain_gradient(gradients.bench(), x.tensor, d_y.tensor));
  gradients.show(norm + "/bias",
                 {.title = "How the loss changes with the bias",
                  .formula = fmt::format("Σ {} over all words", d_y.id),
                  .from = {d_y.id},
                  .axes = {"d_model"},
                  .note = "The bias is added to every row.",
                  .worked = attn::worked_linear_backward_bias(known_d_y)},
                 d_bias, mistakes_of_bias_gradient(gradients.bench(), d_y.tensor));
  const auto gain_id = norm + "/gain";
  return gradients.show(
      x.id,
      {.title = "Back through layer norm",
       .formula = plus_besides(besides, "(d − mean(d) − s · mean(d · s)) / σ"),
       .from = with_besides(besides, {d_y.id, x.id, gain_id}),
       .axes = {"token", "d_model"},
       .note = fmt::format(
           "d = {} · gain, s = {}, σ = √(variance + 1e−05) and both means are those of the row. LN takes "
           "away the mean and the size of a row, so a gradient that would only change those comes to "
           "nothing.",
           d_y.id, standardized),
       .worked = worked_besides(besides, attn::worked_layer_norm_backward_x(
                                             known_x, attn::Known<1>{gain_id, weights.gain}, known_d_y))},
      with_besides(besides, std::move(d_x)),
      mistakes_of_norm_gradient(x.tensor, weights.gain, d_y.tensor, besides));
}

Tensor<3> feed_forward_backward(Workbench& bench, Gradients& gradients, const Named& x,
                                const Tensor<3>& hidden, const FeedForwardWeights& weights,
                                const Tensor<3>& d_output, const std::optional<Named>& besides) {
  const Named d_y = {"ffn/d_output", d_output};
  show_weight_gradient(bench, gradients, "W_2", {"ffn/hidden", hidden}, d_y,
                       {.title = "How the loss changes with W_2",
                        .axes = {"d_ff", "d_model"},
                        .note = "Where ffn/hidden is 0 for all words, that row of W_2 learns nothing."});
  show_bias_gradient(gradients, "b_2", d_y, "d_model");
  const auto d_hidden = gradients.show(
      "ffn/hidden",
      {.title = "Back to the hidden layer",
       .formula = "ffn/d_output W_2ᵀ",
       .from = {d_y.id, "W_2"},
       .axes = {"token", "d_ff"},
       .note = "ffn/hidden is the A of the rule for products, W_2 the B.",
       .worked = attn::worked_linear_backward_input({{{d_y.id, d_output}, {"W_2", weights.W_2}}})},
      attn::linear_backward_input(d_output, weights.W_2));

  const auto activation = activation_of(bench);
  const bool is_relu = activation == attn::Activation::relu;
  const attn::Known<3> known_hidden{"ffn/hidden", hidden};
  const auto read = is_relu ? hidden : attn::linear(x.tensor, weights.W_1, weights.b_1);
  const auto before = attn::worked_linear(attn::Known<3>{x.id, x.tensor}, attn::Known<2>{"W_1", weights.W_1},
                                          attn::Known<1>{"b_1", weights.b_1});
  const Named d_linear = {
      "ffn/d_linear",
      bench.trace.step(
          {.id = "ffn/d_linear",
           .title = is_relu ? "Back through ReLU" : "Back through GELU",
           .formula = is_relu ? "ffn/d_hidden where ffn/hidden > 0, 0 elsewhere"
                              : fmt::format("ffn/d_hidden · (Φ(z) + z φ(z)), z = {} W_1 + b_1", x.id),
           .from = is_relu ? std::vector<std::string>{"ffn/d_hidden", "ffn/hidden"}
                           : std::vector<std::string>{"ffn/d_hidden", x.id, "W_1", "b_1"},
           .axes = {"token", "d_ff"},
           .note = fmt::format("The gradient of {} W_1 + b_1. {}", x.id,
                               is_relu ? "What ReLU cut off had no part in L, and passes nothing back."
                                       : "Φ is the normal distribution function, φ its density. Of what is "
                                         "far below 0 hardly anything passes."),
           .worked = attn::worked_activation_backward(
               activation, is_relu ? attn::WorkedOut(known_hidden) : before, {"ffn/d_hidden", d_hidden})},
          attn::activate_backward(activation, read, d_hidden),
          mistakes_of_activation_gradient(activation, read, d_hidden))};
  show_weight_gradient(bench, gradients, "W_1", x, d_linear,
                       {.title = "How the loss changes with W_1",
                        .axes = {"d_model", "d_ff"},
                        .note = "A column whose hidden number is 0 for all words learns nothing."});
  show_bias_gradient(gradients, "b_1", d_linear, "d_ff");
  const auto through_network = attn::linear_backward_input(d_linear.tensor, weights.W_1);
  return gradients.show(
      x.id,
      {.title = "Back to what the network read",
       .formula = plus_besides(besides, "ffn/d_linear W_1ᵀ"),
       .from = with_besides(besides, {d_linear.id, "W_1"}),
       .axes = {"token", "d_model"},
       .note = besides
                   ? fmt::format("{} went two ways: into the network, and straight on to the sum. Its two "
                                 "gradients add up.",
                                 x.id)
                   : "",
       .worked = worked_besides(besides, attn::worked_linear_backward_input(
                                             {{{d_linear.id, d_linear.tensor}, {"W_1", weights.W_1}}}))},
      with_besides(besides, through_network), mistakes_of_residual_gradient(besides, through_network));
}

namespace {

/// Back through the attention of the block: what comes back to the vectors that it read.
Named attention_of_block_backward(Workbench& bench, Gradients& gradients, const BlockKept& kept,
                                  const MultiHeadWeights& weights, const Named& d_sum) {
  const auto d_output =
      through_sum(gradients, "attention/output", "The residual connection hands it on to attention", d_sum);
  auto back = bench.trace.within("attention", [&] {
    return multihead_backward(bench, gradients, kept.attention, weights, d_output, true);
  });
  return {"attention/" + formula::gradient_name(kept.attention.X_query.id), std::move(back.d_X_query)};
}

/// X = LN(x + f(x)): each layer norm stands between a sum and the next sublayer.
void post_norm_backward(Workbench& bench, Gradients& gradients, const BlockKept& kept,
                        const TransformerBlockWeights& weights, const Tensor<3>& d_output) {
  const Named norm_1 = {"norm_1", kept.around_attention.norm};
  const Named d_residual_2 = {
      "d_residual_2", layer_norm_back(gradients, {"residual_2", kept.around_feed_forward.residual}, "norm_2",
                                      weights.norm_2, {"d_output", d_output})};
  const auto d_ffn = through_sum(gradients, "ffn/output",
                                 "The residual connection hands it on to the network", d_residual_2);
  const Named d_norm_1 = {"d_norm_1", feed_forward_backward(bench, gradients, norm_1, kept.hidden,
                                                            weights.feed_forward, d_ffn, d_residual_2)};
  const Named d_residual_1 = {
      "d_residual_1", layer_norm_back(gradients, {"residual_1", kept.around_attention.residual}, "norm_1",
                                      weights.norm_1, d_norm_1)};
  const auto through_attention =
      attention_of_block_backward(bench, gradients, kept, weights.attention, d_residual_1);
  const std::optional<Named> besides = d_residual_1;
  gradients.show("X",
                 {.title = "The words",
                  .formula = d_residual_1.id + " + " + through_attention.id,
                  .from = {d_residual_1.id, through_attention.id},
                  .axes = {"token", "d_model"},
                  .note = "X went two ways: into attention, and straight on to the sum. The block below gets "
                          "this as its d_output.",
                  .worked = attn::worked_add(attn::Known<3>{d_residual_1.id, d_residual_1.tensor},
                                             attn::Known<3>{through_attention.id, through_attention.tensor})},
                 attn::add(d_residual_1.tensor, through_attention.tensor),
                 mistakes_of_residual_gradient(besides, through_attention.tensor));
}

/// x + f(LN(x)): d_output goes straight through both sums to X, and each sublayer adds to it.
void pre_norm_backward(Workbench& bench, Gradients& gradients, const BlockKept& kept,
                       const TransformerBlockWeights& weights, const Tensor<3>& d_output) {
  const Named d_residual_2 = {
      "d_residual_2", through_sum(gradients, "residual_2", "The output is that sum", {"d_output", d_output})};
  const auto d_ffn = through_sum(gradients, "ffn/output",
                                 "The residual connection hands it on to the network", d_residual_2);
  const Named d_norm_2 = {"d_norm_2",
                          feed_forward_backward(bench, gradients, {"norm_2", kept.around_feed_forward.norm},
                                                kept.hidden, weights.feed_forward, d_ffn, std::nullopt)};
  const Named d_residual_1 = {
      "d_residual_1", layer_norm_back(gradients, {"residual_1", kept.around_attention.residual}, "norm_2",
                                      weights.norm_2, d_norm_2, d_residual_2)};
  const auto d_norm_1 = attention_of_block_backward(bench, gradients, kept, weights.attention, d_residual_1);
  layer_norm_back(gradients, {"X", kept.X}, "norm_1", weights.norm_1, d_norm_1, d_residual_1);
}

}  // namespace

void block_backward(Workbench& bench, Gradients& gradients, const BlockKept& kept,
                    const TransformerBlockWeights& weights, const Tensor<3>& d_output) {
  const auto backward = is_pre_norm(bench) ? pre_norm_backward : post_norm_backward;
  backward(bench, gradients, kept, weights, d_output);
}

}  // namespace lessons

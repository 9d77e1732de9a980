/// Back through multi-head attention (Vaswani et al. 2017, section 3.2.2): the projections are products,
/// splitting and merging only move numbers, and each head goes back as a single attention does.

#include "lessons/backward/multihead.hpp"

#include <fmt/format.h>

#include "attn/ops/heads.hpp"
#include "attn/ops/linear_backward.hpp"
#include "lessons/backward/mistakes.hpp"
#include "lessons/backward/projections.hpp"

namespace lessons {

MultiHeadKept MultiHeadKept::of(const Named& X_query, const Named& X_key, const MultiHeadAttention& forward,
                                const std::optional<Mask<3>>& mask) {
  return {X_query,
          X_key,
          forward.Q_heads,
          forward.K_heads,
          forward.V_heads,
          forward.attention.weights,
          forward.attention.output,
          mask,
          &forward.attention.scaled};
}

MultiHeadWeights moved(const Move& move, const MultiHeadWeights& weights, const std::string& group) {
  return {move(group + "W_Q", weights.W_Q), move(group + "W_K", weights.W_K),
          move(group + "W_V", weights.W_V), move(group + "W_O", weights.W_O),
          move(group + "b_Q", weights.b_Q), move(group + "b_K", weights.b_K),
          move(group + "b_V", weights.b_V), move(group + "b_O", weights.b_O)};
}

namespace {

/// d_Q of d_Q_heads, and so on: the columns of the heads, side by side again.
Tensor<3> merge_gradient(Gradients& gradients, const std::string& name, const Tensor<4>& d_heads,
                         const std::vector<std::string>& axes) {
  const auto d_heads_id = "d_" + name + "_heads";
  return gradients.show(name,
                        {.title = fmt::format("Splitting {} goes back by merging", name),
                         .formula = fmt::format("{}: transpose, reshape", d_heads_id),
                         .from = {d_heads_id},
                         .axes = axes,
                         .note = "No number changes forward, so none changes backward.",
                         .worked = attn::worked_merge_heads(attn::Known<4>{d_heads_id, d_heads})},
                        attn::merge_heads(d_heads), mistakes_of_merged_gradient(d_heads));
}

}  // namespace

MultiHeadInputGradients multihead_backward(Workbench& bench, Gradients& gradients, const MultiHeadKept& kept,
                                           const MultiHeadWeights& weights, const Tensor<3>& d_output,
                                           bool X_goes_elsewhere) {
  const Heads heads = {kept.Q_heads.shape(1), kept.K_heads.shape(1)};
  const auto kv_head = kv_head_axis(heads);
  show_weight_gradient(bench, gradients, "W_O", {"concat", attn::merge_heads(kept.heads)},
                       {"d_output", d_output},
                       {.title = "How the loss changes with W_O",
                        .axes = {"head·d_v", "d_model"},
                        .note = "output = concat W_O, so W_O is the B of the rule and concat the A."});
  if (weights.b_O) show_bias_gradient(gradients, "b_O", {"d_output", d_output}, "d_model");
  const auto d_concat = gradients.show(
      "concat",
      {.title = "Back to what the heads found",
       .formula = "d_output W_Oᵀ",
       .from = {"d_output", "W_O"},
       .axes = {"query", "head·d_v"},
       .note = "W_O mixed the heads; its transpose gives each head its part of the gradient.",
       .worked = attn::worked_linear_backward_input({{{"d_output", d_output}, {"W_O", weights.W_O}}})},
      attn::linear_backward_input(d_output, weights.W_O));
  const auto d_heads =
      gradients.show("heads",
                     {.title = "Merging the heads goes back by splitting",
                      .formula = "d_concat: reshape, transpose",
                      .from = {"d_concat"},
                      .axes = {"head", "query", "d_v"},
                      .note = "No number changes. From here on each head goes back by itself.",
                      .worked = attn::worked_split_heads(attn::Known<3>{"d_concat", d_concat}, heads.query)},
                     attn::split_heads(d_concat, heads.query), mistakes_of_d_heads(d_concat, heads.query));
  const auto d = attention_backward<4>(bench, gradients,
                                       {.Q = kept.Q_heads,
                                        .K = kept.K_heads,
                                        .V = kept.V_heads,
                                        .weights = kept.weights,
                                        .mask = kept.mask,
                                        .scaled = kept.scaled},
                                       d_heads);
  const auto d_Q = merge_gradient(gradients, "Q", d.d_Q, {"query", "head·d_k"});
  const auto d_K = merge_gradient(gradients, "K", d.d_K, {"key", kv_head + "·d_k"});
  const auto d_V = merge_gradient(gradients, "V", d.d_V, {"key", kv_head + "·d_v"});
  const ProjectedFrom from = {
      .X_query = kept.X_query,
      .X_key = kept.X_key,
      .weights = {weights.W_Q, weights.W_K, weights.W_V, weights.b_Q, weights.b_K, weights.b_V},
      .heads = "head·",
      .kv_heads = kv_head + "·",
      .goes_elsewhere = X_goes_elsewhere};
  auto back = projection_backward(bench, gradients, from, d_Q, d_K, d_V);
  return {std::move(back.d_X_query), std::move(back.d_X_key)};
}

}  // namespace lessons

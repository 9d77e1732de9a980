#include "lessons/shared/sublayer_steps.hpp"

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

/// Shows `about.id` = x + y. Its formula and what it is computed from are filled in.
Tensor<3> show_sum(Workbench& bench, attn::About about, const Named& x, const Named& y) {
  about.formula = x.id + " + " + y.id;
  about.from = {x.id, y.id};
  return bench.trace.step(about, attn::add(x.tensor, y.tensor));
}

/// Shows `about.id`, the layer norm of x with the inputs `NAME/gain` and `NAME/bias`. Its formula and what it
/// is computed from are filled in.
Tensor<3> show_layer_norm(Workbench& bench, attn::About about, const Named& x,
                             const std::string& name, const attn::LayerNormWeights& weights) {
  about.formula = "(x − mean) / √(variance + 1e-5) · gain + bias, x = " + x.id;
  about.from = {x.id, name + "/gain", name + "/bias"};
  return bench.trace.step(about, attn::layer_norm(x.tensor, weights.gain, weights.bias));
}

void claim_layer_norm(Workbench& bench, const std::string& id, const Named& x) {
  bench.trace.claim(
      {.id = id + "/mean-and-variance",
       .claim =
           "before gain and bias each row of " + id + " has mean 0 and variance 1, but for epsilon's share",
       .formula = "max(|mean|, |variance − v / (v + 1e-5)|), v the variance of the row of " + x.id,
       .value = attn::standardization_deviation(attn::standardize(x.tensor), x.tensor),
       .limit = rounding(bench.trace, attn::max_abs(x.tensor))});
}

}  // namespace

attn::LayerNormWeights norm_weights(Workbench& bench, const std::string& name) {
  auto gain =
      bench.constant({.id = name + "/gain", .title = "Learned scale, at first 1", .axes = {"d_model"}},
                     bench.d_model(), 1.0);
  auto bias =
      bench.constant({.id = name + "/bias", .title = "Learned shift, at first 0", .axes = {"d_model"}},
                     bench.d_model(), 0.0);
  return {std::move(gain), std::move(bias)};
}

Tensor<3> show_attention_residual(Workbench& bench, const Named& X, const Tensor<3>& output) {
  return show_sum(bench,
                  {.id = "residual",
                   .title = "The token keeps what it was",
                   .axes = {"query", "d_model"},
                   .note = "Attention only adds to a token's row (He et al. 2016), so that gradients have a "
                           "straight way back and layers can be stacked."},
                  X, {"output", output});
}

Tensor<3> show_attention_norm(Workbench& bench, const Named& x,
                                 const attn::LayerNormWeights& weights) {
  return show_layer_norm(bench,
                         {.id = "normalized",
                          .title = "Each row brought to mean 0 and variance 1",
                          .axes = {"query", "d_model"},
                          .note = "Layer norm (Ba et al. 2016) takes mean and variance of each token's own "
                                  "row; the variance divides by d, not d − 1."},
                         x, "norm", weights);
}

Named show_sublayer(Workbench& bench, const Named& x, attn::NormOrder order,
                       const SublayerText& text, const attn::LayerNormWeights& weights,
                       const std::function<Named(const Named&)>& show) {
  const auto show_residual = [&](const Named& found) -> Named {
    const attn::About about = {.id = text.residual_id,
                               .title = text.residual_title,
                               .axes = {"token", "d_model"},
                               .note = text.residual_note};
    return {about.id, show_sum(bench, about, x, found)};
  };
  const auto show_norm = [&](const Named& before) -> Named {
    const attn::About about = {.id = text.norm_id,
                               .title = "Each row brought to mean 0 and variance 1",
                               .axes = {"token", "d_model"},
                               .note = text.norm_note};
    auto norm = show_layer_norm(bench, about, before, text.weights, weights);
    claim_layer_norm(bench, about.id, before);
    return {about.id, std::move(norm)};
  };
  return order == attn::NormOrder::post ? show_norm(show_residual(show(x)))
                                        : show_residual(show(show_norm(x)));
}


}  // namespace lessons

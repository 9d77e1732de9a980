#include "lessons/backward/projections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/linear_backward.hpp"
#include "lessons/backward/mistakes.hpp"

namespace lessons {

namespace {

Tensor<2> show_d_projection(Workbench& bench, Gradients& gradients, const Named& X, const std::string& name,
                            const Tensor<3>& d_projection, const std::string& last_axis) {
  return show_weight_gradient(
      bench, gradients, "W_" + name, X, {"d_" + name, d_projection},
      {.title = "How the loss changes with W_" + name,
       .axes = {"d_model", last_axis},
       .note = fmt::format(
           "In {0} = {1} W_{0} the rule has B = W_{0}. All words share W_{0}, so one more word adds one "
           "term{2}.",
           name, X.id,
           X.id == "X_target" || bench.options.causal ? "" : ", and changes the others through softmax")});
}

Tensor<3> show_d_vectors(Workbench& bench, Gradients& gradients, const ProjectedFrom& from, const Named& X,
                         const std::string& axis, const std::vector<UseOfVectors>& uses) {
  std::vector<std::string> terms, names;
  std::vector<std::pair<attn::Known<3>, attn::Known<2>>> products;
  Tensor<3> sum(X.tensor.shape(), 0.0);
  for (const auto& [projection, d_projection, W] : uses) {
    const auto d_id = "d_" + projection, W_id = "W_" + projection;
    terms.push_back(fmt::format("{} {}ᵀ", d_id, W_id));
    names.insert(names.end(), {d_id, W_id});
    products.push_back({{d_id, d_projection}, {W_id, W}});
    sum = attn::add(sum, attn::linear_backward_input(d_projection, W));
  }
  attn::About about = {
      .id = formula::gradient_name(X.id),
      .title = from.goes_elsewhere ? "What comes back through Q, K and V" : "The words",
      .formula = fmt::format("{}", fmt::join(terms, " + ")),
      .from = names,
      .axes = {axis, "d_model"},
      .note = fmt::format(
          "{}{}",
          uses.size() > 1 ? fmt::format("{} enters {} products: gradients add up. ", X.id, uses.size()) : "",
          from.goes_elsewhere ? "The residual connection has another part."
                              : "The layer below gets it as d_output."),
      .worked = attn::worked_linear_backward_input(products)};
  const auto mistakes = mistakes_of_d_vectors(bench, uses);
  return from.goes_elsewhere ? bench.trace.step(about, sum, mistakes)
                             : gradients.show(X.id, about, sum, mistakes);
}

}  // namespace

Tensor<2> show_weight_gradient(Workbench& bench, Gradients& gradients, const std::string& W, const Named& x,
                               const Named& d_y, attn::About about) {
  const auto product = fmt::format("{}ᵀ {}", x.id, d_y.id);
  about.formula = bench.plan.is_batched() ? fmt::format("Σ {} over the samples", product) : product;
  about.from = {x.id, d_y.id};
  about.worked = attn::worked_linear_backward_weight({x.id, x.tensor}, {d_y.id, d_y.tensor});
  return gradients.show(W, about, attn::linear_backward_weight(x.tensor, d_y.tensor),
                        mistakes_of_weight_gradient(bench, x.tensor, d_y.tensor));
}

void show_bias_gradient(Gradients& gradients, const std::string& b, const Named& d_y,
                        const std::string& axis) {
  gradients.show(b,
                 {.title = "How the loss changes with " + b,
                  .formula = fmt::format("Σ {} over all words", d_y.id),
                  .from = {d_y.id},
                  .axes = {axis},
                  .note = "The bias is added to every row.",
                  .worked = attn::worked_linear_backward_bias({d_y.id, d_y.tensor})},
                 attn::linear_backward_bias(d_y.tensor),
                 mistakes_of_bias_gradient(gradients.bench(), d_y.tensor));
}

ProjectionGradients projection_backward(Workbench& bench, Gradients& gradients, const ProjectedFrom& from,
                                        const Tensor<3>& d_Q, const Tensor<3>& d_K, const Tensor<3>& d_V) {
  const auto &X_query = from.X_query, &X_key = from.X_key;
  const auto& weights = from.weights;
  const auto d_W = [&](const std::string& name, const std::optional<Tensor<1>>& b, const Named& X,
                       const Tensor<3>& d, const std::string& axis) {
    auto gradient = show_d_projection(bench, gradients, X, name, d, axis);
    if (b) show_bias_gradient(gradients, "b_" + name, {"d_" + name, d}, axis);
    return gradient;
  };
  ProjectionGradients result;
  result.d_W_Q = d_W("Q", weights.b_Q, X_query, d_Q, from.heads + "d_k");
  result.d_W_K = d_W("K", weights.b_K, X_key, d_K, from.kv_heads + "d_k");
  result.d_W_V = d_W("V", weights.b_V, X_key, d_V, from.kv_heads + "d_v");
  const UseOfVectors Q = {"Q", d_Q, weights.W_Q}, K = {"K", d_K, weights.W_K}, V = {"V", d_V, weights.W_V};
  const auto d_X = [&](const Named& X, const char* axis, const std::vector<UseOfVectors>& uses) {
    return show_d_vectors(bench, gradients, from, X, axis, uses);
  };
  if (from.is_one_text()) {
    result.d_X_query = d_X(X_query, "token", {Q, K, V});
  } else {
    result.d_X_query = d_X(X_query, "target", {Q});
    result.d_X_key = d_X(X_key, "source", {K, V});
  }
  return result;
}

}  // namespace lessons

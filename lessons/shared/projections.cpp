#include "lessons/shared/projections.hpp"

#include <utility>

#include "attn/ops/matmul.hpp"

namespace lessons {

attn::SingleHeadWeights draw_projection_weights(Workbench& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  auto W_Q = bench.weight({.id = "W_Q", .title = "Makes queries", .axes = {"d_model", "d_k"}}, d_model, d_k);
  auto W_K = bench.weight({.id = "W_K", .title = "Makes keys", .axes = {"d_model", "d_k"}}, d_model, d_k);
  auto W_V = bench.weight({.id = "W_V", .title = "Makes values", .axes = {"d_model", "d_v"}}, d_model, d_v);
  return {std::move(W_Q), std::move(W_K), std::move(W_V)};
}

Projections show_projections(Workbench& bench, const Named& X_query, const Named& X_key,
                                const attn::SingleHeadWeights& weights, const ProjectionTitles& titles) {
  auto& trace = bench.trace;
  auto Q = trace.step({.id = "Q",
                       .title = titles.Q,
                       .formula = X_query.id + " W_Q",
                       .from = {X_query.id, "W_Q"},
                       .axes = {"query", "d_k"}},
                      attn::linear(X_query.tensor, weights.W_Q));
  auto K = trace.step({.id = "K",
                       .title = titles.K,
                       .formula = X_key.id + " W_K",
                       .from = {X_key.id, "W_K"},
                       .axes = {"key", "d_k"}},
                      attn::linear(X_key.tensor, weights.W_K));
  auto V = trace.step({.id = "V",
                       .title = titles.V,
                       .formula = X_key.id + " W_V",
                       .from = {X_key.id, "W_V"},
                       .axes = {"key", "d_v"}},
                      attn::linear(X_key.tensor, weights.W_V));
  return {std::move(Q), std::move(K), std::move(V)};
}


}  // namespace lessons

#include "lessons/shared/projections.hpp"

#include <utility>

#include "attn/ops/matmul.hpp"

namespace lessons {

template <class T>
attn::SingleHeadWeights<T> draw_projection_weights(Workbench<T>& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  auto W_Q = bench.weight({.id = "W_Q", .title = "Makes queries", .axes = {"d_model", "d_k"}}, d_model, d_k);
  auto W_K = bench.weight({.id = "W_K", .title = "Makes keys", .axes = {"d_model", "d_k"}}, d_model, d_k);
  auto W_V = bench.weight({.id = "W_V", .title = "Makes values", .axes = {"d_model", "d_v"}}, d_model, d_v);
  return {std::move(W_Q), std::move(W_K), std::move(W_V)};
}

template <class T>
Projections<T> show_projections(Workbench<T>& bench, const Named<T>& X_query, const Named<T>& X_key,
                                const attn::SingleHeadWeights<T>& weights, const ProjectionTitles& titles) {
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

#define INSTANTIATE(T)                                                                      \
  template attn::SingleHeadWeights<T> draw_projection_weights(Workbench<T>&);               \
  template Projections<T> show_projections(Workbench<T>&, const Named<T>&, const Named<T>&, \
                                           const attn::SingleHeadWeights<T>&, const ProjectionTitles&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace lessons

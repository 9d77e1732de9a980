#include "lessons/scoring/steps.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

Tensor<2> show_dot(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys) {
  return bench.trace.step({.id = "dot/scores",
                           .title = "Dot: do the two vectors point the same way?",
                           .formula = "queries keysᵀ",
                           .from = {"queries", "keys"},
                           .axes = {"query", "key"},
                           .note = "Entry i, j is qᵢ · kⱼ. There is nothing to learn. Each number of the "
                                   "query meets only the number in the same place of the key, so both must "
                                   "have the same length, and their numbers the same meaning."},
                          attn::dot_scores(queries, keys));
}

Tensor<2> show_scaled_dot(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys) {
  const auto d = bench.d_model();
  const double root = std::sqrt(static_cast<double>(d));
  return bench.trace.step(
      {.id = "scaled_dot/scores",
       .title = "Scaled dot: the same, of a size that does not depend on d_model",
       .formula =
           fmt::format("queries keysᵀ / √d_model = queries keysᵀ / √{} = queries keysᵀ / {:.4g}", d, root),
       .from = {"queries", "keys"},
       .axes = {"query", "key"},
       .note = "The order of the keys in a row stays, but every lead is √d_model times smaller. The larger "
               "d_model, the more this matters (see the lesson scaling)."},
      attn::divide(attn::dot_scores(queries, keys), root));
}

Tensor<2> show_general(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& W_a,
                          const Tensor<2>& keys) {
  return bench.trace.step(
      {.id = "general/scores",
       .title = "General: a dot product that is learned",
       .formula = "queries W_a keysᵀ",
       .from = {"queries", "W_a", "keys"},
       .axes = {"query", "key"},
       .note = "Entry i, j is qᵢᵀ W_a kⱼ. Through W_a every number of the query meets every number of the "
               "key, so the two may differ in length and meaning. The Transformer's scores are of this kind: "
               "(x W_Q) (y W_K)ᵀ = x (W_Q W_Kᵀ) yᵀ, with W_Q W_Kᵀ in the place of W_a."},
      attn::general_scores(queries, W_a, keys));
}

attn::AdditiveScores show_additive(Workbench& bench, const Tensor<2>& queries,
                                      const Tensor<2>& keys, const Tensor<2>& W_q,
                                      const Tensor<2>& W_k, const Tensor<1>& v_a) {
  auto& trace = bench.trace;
  attn::AdditiveScores additive;
  auto& [projected_queries, projected_keys, hidden, scores] = additive;

  projected_queries = trace.step(
      {.id = "additive/projected_queries",
       .title = "Additive: the query's half of a hidden layer",
       .formula = "queries W_q",
       .from = {"queries", "W_q"},
       .axes = {"query", "d_a"},
       .note = "Additive scoring is a small neural network with one hidden layer of d_a units. It reads the "
               "query through W_q and the key through W_k, so these may differ in length and meaning."},
      attn::linear(queries, W_q));

  projected_keys = trace.step(
      {.id = "additive/projected_keys",
       .title = "… and the key's half",
       .formula = "keys W_k",
       .from = {"keys", "W_k"},
       .axes = {"key", "d_a"},
       .note = "No query is needed for this: a translation model computes it once for the whole source."},
      attn::linear(keys, W_k));

  hidden = trace.step({.id = "additive/hidden",
                       .title = "Every query meets every key in the hidden layer",
                       .formula = "tanh(projected_queriesᵢ + projected_keysⱼ)",
                       .from = {"additive/projected_queries", "additive/projected_keys"},
                       .axes = {"query", "key", "d_a"},
                       .note = "d_a numbers for each pair. The tanh cannot be left out: without it a score "
                               "would be a number of the query plus a number of the key, softmax would "
                               "cancel the query's number, and every query would get the same weights."},
                      attn::tanh(attn::pairwise_sum(projected_queries, projected_keys)));

  scores = trace.step({.id = "additive/scores",
                       .title = "v_a makes one score of the d_a numbers",
                       .formula = "hidden v_a = tanh(queriesᵢ W_q + keysⱼ W_k) · v_a",
                       .from = {"additive/hidden", "v_a"},
                       .axes = {"query", "key"},
                       .note = "tanh stays between −1 and 1, so no score is beyond ±Σ |v_a|, however large "
                               "the vectors are. A dot product has no such limit."},
                      attn::dot_last_axis(hidden, v_a));
  return additive;
}

attn::ConcatScores show_concat(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys,
                                  const Tensor<2>& W_q, const Tensor<2>& W_k, const Tensor<1>& v_a) {
  auto& trace = bench.trace;
  attn::ConcatScores concat;
  auto& [pairs, hidden, scores] = concat;

  const auto W_c =
      trace.step({.id = "concat/W_c",
                  .title = "Concat: both matrices as one",
                  .formula = "[W_q; W_k]",
                  .from = {"W_q", "W_k"},
                  .axes = {"feature", "d_a"},
                  .note = "W_q on top of W_k. In Luong et al. this is one matrix from the start; here it is "
                          "put together from the matrices of additive, so that the two can be compared."},
                 attn::stack_rows(W_q, W_k));

  pairs = trace.step({.id = "concat/pairs",
                      .title = "Every query and every key, end to end",
                      .formula = "[queriesᵢ; keysⱼ]",
                      .from = {"queries", "keys"},
                      .axes = {"query", "key", "feature"},
                      .note = "Each query is copied once for every key, and each key once for every query."},
                     attn::pairwise_concat(queries, keys));

  hidden = trace.step({.id = "concat/hidden",
                       .title = "The hidden layer, from pairs",
                       .formula = "tanh(pairs W_c)",
                       .from = {"concat/pairs", "concat/W_c"},
                       .axes = {"query", "key", "d_a"},
                       .note = "Compare this with additive/hidden: [q; k] [W_q; W_k] is q W_q + k W_k."},
                      attn::tanh(attn::linear(pairs, W_c)));

  scores = trace.step({.id = "concat/scores",
                       .title = "v_a makes one score of the d_a numbers",
                       .formula = "hidden v_a = tanh([queriesᵢ; keysⱼ] W_c) · v_a",
                       .from = {"concat/hidden", "v_a"},
                       .axes = {"query", "key"},
                       .note = "The scores of additive again, by a longer way."},
                      attn::dot_last_axis(hidden, v_a));
  return concat;
}

Tensor<2> show_context(Workbench& bench, const std::string& function, const Tensor<2>& scores,
                          const Tensor<2>& keys, const std::string& weights_note,
                          const std::string& context_note) {
  const auto weights = bench.trace.step({.id = function + "/weights",
                                         .title = "Each row becomes shares of attention",
                                         .formula = fmt::format("softmax({}/scores)", function),
                                         .from = {function + "/scores"},
                                         .axes = {"query", "key"},
                                         .note = weights_note,
                                         .distribution = true},
                                        attn::softmax(scores));
  bench.trace.step({.id = function + "/context",
                    .title = "Every query takes home a mixture of the keys",
                    .formula = fmt::format("{}/weights · keys", function),
                    .from = {function + "/weights", "keys"},
                    .axes = {"query", "d_model"},
                    .note = context_note},
                   attn::matmul(weights, keys));
  return weights;
}


}  // namespace lessons

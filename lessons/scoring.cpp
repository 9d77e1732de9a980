/// Scoring functions: five ways to say how well a query matches a key, on the same queries and keys.
/// Sources: Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
/// appendix A.1.2 (additive); Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine
/// Translation", section 3.1 (dot, general, concat); Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.2.1 (scaled dot).

#include "attn/ops/scoring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/batch.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

template <class T>
Tensor<T, 2> show_dot(Workbench<T>& bench, const Tensor<T, 2>& queries, const Tensor<T, 2>& keys) {
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

template <class T>
Tensor<T, 2> show_scaled_dot(Workbench<T>& bench, const Tensor<T, 2>& queries, const Tensor<T, 2>& keys) {
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

template <class T>
Tensor<T, 2> show_general(Workbench<T>& bench, const Tensor<T, 2>& queries, const Tensor<T, 2>& W_a,
                          const Tensor<T, 2>& keys) {
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

template <class T>
attn::AdditiveScores<T> show_additive(Workbench<T>& bench, const Tensor<T, 2>& queries,
                                      const Tensor<T, 2>& keys, const Tensor<T, 2>& W_q,
                                      const Tensor<T, 2>& W_k, const Tensor<T, 1>& v_a) {
  auto& trace = bench.trace;
  attn::AdditiveScores<T> additive;
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

template <class T>
attn::ConcatScores<T> show_concat(Workbench<T>& bench, const Tensor<T, 2>& queries, const Tensor<T, 2>& keys,
                                  const Tensor<T, 2>& W_q, const Tensor<T, 2>& W_k, const Tensor<T, 1>& v_a) {
  auto& trace = bench.trace;
  attn::ConcatScores<T> concat;
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

/// What follows from the scores, whatever function they come from. Returns the weights.
template <class T>
Tensor<T, 2> show_context(Workbench<T>& bench, const std::string& function, const Tensor<T, 2>& scores,
                          const Tensor<T, 2>& keys, const std::string& weights_note,
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

/// "general: qᵀ W_a k; 64 parameters, 640 multiply-adds" for the sizes of this run.
template <class T>
void compare(Workbench<T>& bench) {
  const auto n_q = static_cast<double>(bench.plan.target.length());
  const auto n_k = static_cast<double>(bench.plan.source.length());
  const auto d = static_cast<double>(bench.d_model()), d_a = d, pairs = n_q * n_k;
  const auto line = [](const char* function, const char* formula, double parameters, double multiply_adds) {
    return fmt::format("\n{}: {}; {:.0f} parameters, {:.0f} multiply-adds", function, formula, parameters,
                       multiply_adds);
  };
  bench.trace.note(
      "comparison", "Which one?",
      "What each function learns, and what scoring all pairs of this run costs:" +
          line("dot and scaled_dot", "q · k", 0, pairs * d) +
          line("general", "qᵀ W_a k", d * d, n_q * d * d + pairs * d) +
          line("additive", "v_aᵀ tanh(W_qᵀ q + W_kᵀ k)", 2 * d * d_a + d_a,
               (n_q + n_k) * d * d_a + pairs * d_a) +
          line("concat", "v_aᵀ tanh(W_cᵀ [q; k])", 2 * d * d_a + d_a, pairs * 2 * d * d_a + pairs * d_a) +
          "\nDot and general are straight: twice the key, twice the score. Additive and concat bend: a unit "
          "that is near ±1 hardly notices more of the same. The bend costs a tanh for every unit of every "
          "pair and memory to hold them, while dot is one matrix product, which computers are very good at. "
          "For that speed Vaswani et al. chose the dot product. They add that for large d additive scoring "
          "does better than a dot product without a scale, and so they divide by √d.");
}

template <class T>
void claim_equivalences(Workbench<T>& bench, const Tensor<T, 2>& queries, const Tensor<T, 2>& keys,
                        const Tensor<T, 1>& v_a, const Tensor<T, 2>& dot,
                        const attn::AdditiveScores<T>& additive, const attn::ConcatScores<T>& concat) {
  const auto d = static_cast<double>(bench.d_model());
  const double before_tanh =
      attn::max_abs(additive.projected_queries) + attn::max_abs(additive.projected_keys);
  bench.trace.claim(
      {.id = "additive-equals-concat",
       .claim = "concat with W_c = [W_q; W_k] is additive",
       .formula = "max |additive/scores − concat/scores|",
       .value = attn::max_abs_difference(additive.scores, concat.scores),
       .limit = rounding<T>(static_cast<double>(v_a.size()) * attn::max_abs(v_a) * before_tanh)});

  const Tensor<T, 2> identity = xt::eye<T>(bench.d_model());
  bench.trace.claim({.id = "general-with-identity-equals-dot",
                     .claim = "general with W_a = I is dot",
                     .formula = "max |queries I keysᵀ − dot/scores|",
                     .value = attn::max_abs_difference(attn::general_scores(queries, identity, keys), dot),
                     .limit = rounding<T>(d * attn::max_abs(queries) * attn::max_abs(keys))});
}

template <class T>
void claim_rows_sum_to_1(Workbench<T>& bench, const std::vector<Tensor<T, 2>>& weights) {
  double deviation = 0.0;
  for (const auto& of_one_function : weights)
    deviation = std::max(deviation, attn::row_sum_deviation(of_one_function));
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of the weights of all five functions sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = deviation,
                     .limit = rounding<T>()});
}

template <class T>
void run(Workbench<T>& bench) {
  const auto d_model = bench.d_model(), d_a = d_model;
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  auto& trace = bench.trace;
  bench.label({"query"}, target);
  bench.label({"key"}, source);

  trace.note("idea", "The idea",
             "Attention compares a query with every key. How it compares them is a choice: any function that "
             "makes one number of two vectors will do, as long as it can be trained. This lesson scores the "
             "same queries and keys with five functions. What follows the scores is the same for all: "
             "softmax makes shares of them, and the shares mix the values, which here are the keys "
             "themselves. The weights are drawn at random, so compare the functions, not the translations.",
             "context = softmax(score(query, key)) · keys");

  const auto queries = attn::sample(bench.embed({.id = "queries",
                                                 .title = "The target's tokens ask",
                                                 .axes = {"query", "d_model"},
                                                 .note = "One row a token."},
                                                target),
                                    0);
  const auto keys = attn::sample(
      bench.embed({.id = "keys",
                   .title = "The source's tokens are looked through",
                   .axes = {"key", "d_model"},
                   .note = "One row a token. A word that is in both sentences has the same row in both."},
                  source),
      0);
  const auto W_a =
      bench.weight({.id = "W_a",
                    .title = "For general: how the query's numbers meet the key's",
                    .axes = {"d_model", "feature"},
                    .note = "A row for each number of the query, a column for each number of the key."},
                   d_model, d_model);
  const auto W_q =
      bench.weight({.id = "W_q",
                    .title = "For additive and concat: how the hidden layer reads a query",
                    .axes = {"d_model", "d_a"},
                    .note = "Bahdanau et al. call it W_a and multiply from the left, W_a s. Here vectors are "
                            "rows and weights multiply from the right, so W_q is the transpose of theirs."},
                   d_model, d_a);
  const auto W_k = bench.weight({.id = "W_k",
                                 .title = "For additive and concat: how the hidden layer reads a key",
                                 .axes = {"d_model", "d_a"},
                                 .note = "The transpose of U_a in Bahdanau et al."},
                                d_model, d_a);
  const auto v_a = bench.weight(
      {.id = "v_a", .title = "For additive and concat: what each hidden unit counts for", .axes = {"d_a"}},
      d_a);

  trace.note("which-state", "Which state asks?",
             "In a translation model made of recurrent networks the keys are the states of the encoder, and "
             "the decoder's state asks. Tutorials often write score(hₜ, h̄ₛ) for all of them, but the papers "
             "differ: Bahdanau et al. ask with the decoder's previous state sₜ₋₁, before step t, and Luong "
             "et al. with its current state hₜ, after the recurrent network has made step t. The scoring "
             "function does not care, and here a query is simply the row of a target token. But when "
             "programs or results are compared, it matters which state asked.",
             "Bahdanau: a(sₜ₋₁, hⱼ)   Luong: score(hₜ, h̄ₛ)");

  std::vector<Tensor<T, 2>> weights;
  const auto dot = show_dot(bench, queries, keys);
  weights.push_back(show_context(bench, "dot", dot, keys,
                                 "softmax(x)ⱼ = exp(xⱼ) / Σ exp(x): every weight is between 0 and 1 and a "
                                 "row sums to 1. The scores of all five functions go in as they are.",
                                 "Row i is the average of the keys, weighted with row i of the weights."));

  const auto scaled_dot = show_scaled_dot(bench, queries, keys);
  weights.push_back(show_context(
      bench, "scaled_dot", scaled_dot, keys, "The same preferences as in dot/weights, but milder.",
      "The keys are those of dot/context. Only the shares are others, here and in all that follow."));

  const auto general = show_general(bench, queries, W_a, keys);
  weights.push_back(show_context(bench, "general", general, keys,
                                 "Another matrix, other preferences: a query may look at other keys than "
                                 "with dot. Training would choose W_a such that the right ones win.",
                                 "A query that now looks at another key takes home another vector."));

  const auto additive = show_additive(bench, queries, keys, W_q, W_k, v_a);
  weights.push_back(
      show_context(bench, "additive", additive.scores, keys,
                   "As the scores are bounded, so are the weights: no key gets more than exp(2 Σ |v_a|) "
                   "times the weight of another.",
                   "The smaller Σ |v_a|, the nearer every row is to the plain average of all keys."));

  const auto concat = show_concat(bench, queries, keys, W_q, W_k, v_a);
  weights.push_back(show_context(bench, "concat", concat.scores, keys, "The rows of additive/weights.",
                                 "And so the rows of additive/context."));

  compare(bench);

  claim_equivalences(bench, queries, keys, v_a, dot, additive, concat);
  claim_rows_sum_to_1(bench, weights);
}

double element_count(const Plan& plan) {
  const auto n_q = static_cast<double>(plan.target.length()), n_k = static_cast<double>(plan.source.length());
  const auto d = static_cast<double>(*plan.options.d_model), d_a = d;
  const double functions = 5, pairs = n_q * n_k;
  const double weights = d * d + 4 * d * d_a + d_a;
  const double mixtures = functions * (2 * pairs + n_q * d);
  const double hidden_layers = (n_q + n_k) * d_a + pairs * (2 * d_a + 2 * d);
  return (n_q + n_k) * d + weights + mixtures + hidden_layers;
}

}  // namespace

extern const Lesson scoring;
const Lesson scoring = {
    .name = "scoring",
    .title = "five ways to score how well a query matches a key",
    .teaches =
        "The dot product is not the only way to compare a query with a key. The lesson puts dot, scaled dot, "
        "general, additive (Bahdanau) and concat (Luong) side by side on the same vectors: what each learns, "
        "what it can express, what it costs, and that additive and concat are one function in two notations.",
    .options = {"source", "target", "d-model", "seed", "weight-scale", "embeddings", "dtype"},
    .takes_batches = false,
    .defaults = {.source = {"I love cats"}, .target = {"J'aime les chats"}},
    .examples = {"scoring --source \"I love cats\" --target \"J'aime les chats\" --d-model 4",
                 "scoring --source \"the cat sat\" --target \"the cat\" --weight-scale xavier"},
    .element_count = element_count,
    .run_float64 = run<double>,
    .run_float32 = run<float>,
};

}  // namespace lessons

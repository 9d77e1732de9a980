/// Scoring functions: five ways to say how well a query matches a key, on the same queries and keys.
/// Sources: Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
/// appendix A.1.2 (additive); Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine
/// Translation", section 3.1 (dot, general, concat); Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.2.1 (scaled dot).

#include "attn/ops/scoring.hpp"

#include <fmt/format.h>

#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/scoring/steps.hpp"

namespace lessons {

namespace {

/// What the lesson starts from.
struct Inputs {
  Tensor<2> queries, keys;  ///< [query×d_model], [key×d_model]
  Tensor<2> W_a;            ///< [d_model×d_model]
  Tensor<2> W_q, W_k;       ///< [d_model×d_a]
  Tensor<1> v_a;            ///< [d_a]
};

Inputs show_inputs(Workbench& bench) {
  const auto d_model = bench.d_model(), d_a = *bench.options.d_a;
  Inputs in;
  in.queries = attn::sample(bench.embed({.id = "queries",
                                         .title = "The target's tokens ask",
                                         .axes = {"query", "d_model"},
                                         .note = "One row a token."},
                                        bench.plan.target),
                            0);
  in.keys = attn::sample(
      bench.embed({.id = "keys",
                   .title = "The source's tokens are looked through",
                   .axes = {"key", "d_model"},
                   .note = "One row a token. A word that is in both sentences has the same row in both."},
                  bench.plan.source),
      0);
  in.W_a = bench.weight({.id = "W_a",
                         .title = "For general: how the query's numbers meet the key's",
                         .axes = {"d_model", "feature"},
                         .note = "A row for each number of the query, a column for each number of the key."},
                        d_model, d_model);
  in.W_q =
      bench.weight({.id = "W_q",
                    .title = "For additive and concat: how the hidden layer reads a query",
                    .axes = {"d_model", "d_a"},
                    .note = "Bahdanau et al. call it W_a and multiply from the left, W_a s. Here vectors are "
                            "rows and weights multiply from the right, so W_q is the transpose of theirs."},
                   d_model, d_a);
  in.W_k = bench.weight({.id = "W_k",
                         .title = "For additive and concat: how the hidden layer reads a key",
                         .axes = {"d_model", "d_a"},
                         .note = "The transpose of U_a in Bahdanau et al."},
                        d_model, d_a);
  in.v_a = bench.weight(
      {.id = "v_a", .title = "For additive and concat: what each hidden unit counts for", .axes = {"d_a"}},
      d_a);
  return in;
}

void explain_which_state_asks(attn::Trace& trace) {
  trace.note("which-state", "Which state asks?",
             "In a translation model made of recurrent networks the keys are the states of the encoder, and "
             "the decoder's state asks. Tutorials often write score(hₜ, h̄ₛ) for all of them, but the papers "
             "differ: Bahdanau et al. ask with the decoder's previous state sₜ₋₁, before step t, and Luong "
             "et al. with its current state hₜ, after the recurrent network has made step t. The scoring "
             "function does not care, and here a query is simply the row of a target token. But when "
             "programs or results are compared, it matters which state asked.",
             "Bahdanau: a(sₜ₋₁, hⱼ)   Luong: score(hₜ, h̄ₛ)");
}

/// "general: qᵀ W_a k; 64 parameters, 640 multiply-adds" for the sizes of this run.
void compare(Workbench& bench) {
  const auto n_q = static_cast<double>(bench.plan.target.length());
  const auto n_k = static_cast<double>(bench.plan.source.length());
  const auto d = static_cast<double>(bench.d_model()), d_a = static_cast<double>(*bench.options.d_a);
  const auto pairs = n_q * n_k;
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

void claim_equivalences(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys,
                        const Tensor<1>& v_a, const Tensor<2>& dot, const attn::AdditiveScores& additive,
                        const attn::ConcatScores& concat) {
  const auto d = static_cast<double>(bench.d_model());
  const double before_tanh =
      attn::max_abs(additive.projected_queries) + attn::max_abs(additive.projected_keys);
  bench.trace.claim(
      {.id = "additive-equals-concat",
       .claim = "concat with W_c = [W_q; W_k] is additive",
       .formula = "max |additive/scores − concat/scores|",
       .value = attn::max_abs_difference(additive.scores, concat.scores),
       .limit = rounding(bench.trace, static_cast<double>(v_a.size()) * attn::max_abs(v_a) * before_tanh)});

  const Tensor<2> identity = xt::eye<double>(bench.d_model());
  bench.trace.claim({.id = "general-with-identity-equals-dot",
                     .claim = "general with W_a = I is dot",
                     .formula = "max |queries I keysᵀ − dot/scores|",
                     .value = attn::max_abs_difference(attn::general_scores(queries, identity, keys), dot),
                     .limit = rounding(bench.trace, d * attn::max_abs(queries) * attn::max_abs(keys))});
}

void claim_rows_sum_to_1(Workbench& bench, const std::vector<Tensor<2>>& weights) {
  double deviation = 0.0;
  for (const auto& of_one_function : weights)
    deviation = attn::maximum({deviation, attn::row_sum_deviation(of_one_function)});
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of the weights of all five functions sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = deviation,
                     .limit = rounding(bench.trace)});
}

void run(Workbench& bench) {
  auto& trace = bench.trace;
  bench.label({"query"}, bench.plan.target);
  bench.label({"key"}, bench.plan.source);

  trace.note("idea", "The idea",
             "Attention compares a query with every key. How it compares them is a choice: any function that "
             "makes one number of two vectors will do, as long as it can be trained. This lesson scores the "
             "same queries and keys with five functions. What follows the scores is the same for all: "
             "softmax makes shares of them, and the shares mix the values, which here are the keys "
             "themselves. The weights are drawn at random, so compare the functions, not the translations.",
             "context = softmax(score(query, key)) · keys");

  const auto [queries, keys, W_a, W_q, W_k, v_a] = show_inputs(bench);
  explain_which_state_asks(trace);

  std::vector<Tensor<2>> weights;
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

std::vector<Input> inputs(const Options&) {
  return {{"queries", {"query", "d_model"}, Draw::embedding},
          {"keys", {"key", "d_model"}, Draw::embedding},
          {"W_a", {"d_model", "feature=d_model"}, Draw::weight},
          {"W_q", {"d_model", "d_a"}, Draw::weight},
          {"W_k", {"d_model", "d_a"}, Draw::weight},
          {"v_a", {"d_a"}, Draw::weight}};
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
    .options = {"source", "target", "d-model", "d-a", "seed", "rng", "weight-scale", "embeddings", "dtype"},
    .takes_batches = false,
    .defaults = {.source = {"I love cats"}, .target = {"J'aime les chats"}},
    .examples = {"scoring --source \"I love cats\" --target \"J'aime les chats\" --d-model 4",
                 "scoring --source \"the cat sat\" --target \"the cat\" --weight-scale xavier"},
    .inputs = inputs,
    .run = run,
};

}  // namespace lessons

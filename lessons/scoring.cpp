/// Scoring functions: five ways to say how well a query matches a key, on the same queries and keys.
/// Sources: Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
/// appendix A.1.2 (additive); Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine
/// Translation", section 3.1 (dot, general, concat); Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.2.1 (scaled dot).

#include "attn/ops/scoring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/lesson.hpp"
#include "lessons/scoring.hpp"
#include "lessons/scoring/comparison.hpp"
#include "lessons/scoring/features.hpp"
#include "lessons/scoring/layout.hpp"
#include "lessons/scoring/mistakes.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

extern const Lesson scoring;

std::size_t query_on_page(const Workbench& bench) {
  return attn::token_to_work_out(bench.plan.target.lengths().front());
}

namespace {

/// The entries of a linear map, out of what `x` works out.
attn::WorkedOut worked_linear_map(const attn::WorkedOut& x, const std::string& name, const LinearMap& map) {
  const attn::Known<2> W{"W_" + name, map.W};
  if (!map.b) return attn::worked_linear(x, W);
  return attn::worked_linear(x, W, attn::Known<1>{"b_" + name, *map.b});
}

/// The step `about.id`: x W_q, and + b_q where there is a bias, for `name` "q".
Tensor<3> show_linear(Workbench& bench, attn::About about, const Named& x, const std::string& name,
                      const LinearMap& map, const attn::Mistakes& mistakes) {
  about.formula = fmt::format("{} W_{}", x.id, name);
  about.from = {x.id, "W_" + name};
  if (map.b) {
    about.formula += " + b_" + name;
    about.from.push_back("b_" + name);
  }
  if (!about.worked) about.worked = worked_linear_map(attn::Known{x.id, x.tensor}, name, map);
  return bench.trace.step(about, map(x.tensor), mistakes);
}

ScoringInputs draw_inputs(Workbench& bench) {
  ScoringInputs in;
  bench.show_lengths(bench.plan.source);
  in.queries = bench.input<3>({.id = "queries", .title = "What asks: the words of the target"});
  in.keys = bench.input<3>({.id = "keys", .title = "What is looked through"});
  in.W_a =
      bench.input<2>({.id = "W_a",
                      .title = "General: how queries meet keys",
                      .note = "A row for each number of the query, a column for each number of the key."});
  in.W_q = bench.input<2>(
      {.id = "W_q",
       .title = "How the hidden layer reads a query",
       .note = "Bahdanau et al. call it W_a and multiply from the left, W_a s. Here vectors are rows and "
               "weights multiply from the right, so W_q is the transpose of theirs."});
  in.W_k = bench.input<2>({.id = "W_k",
                           .title = "How the hidden layer reads a key",
                           .note = "The transpose of U_a in Bahdanau et al."});
  in.b_q = bench.input_if_given<1>({.id = "b_q", .title = "Added to what the hidden layer reads of a query"});
  in.b_k = bench.input_if_given<1>({.id = "b_k", .title = "Added to what the hidden layer reads of a key"});
  in.v_a = bench.input<1>({.id = "v_a", .title = "What each hidden unit counts for"});
  in.mask = bench.mask(bench.plan.target, bench.plan.source);
  return in;
}

/// The pair of the first sample to work out: the followed query and the key that it matches best.
attn::Index best_match(const Workbench& bench, const Tensor<3>& scores) {
  const auto query = query_on_page(bench);
  return {query, attn::argmax(&scores(0, query, 0), bench.plan.source.lengths().front())};
}

Tensor<3> dot_scores(Workbench& bench, const Tensor<3>& queries, const Tensor<3>& keys) {
  const auto scores = attn::dot_scores(queries, keys);
  return bench.trace.step(
      {.id = "dot/scores",
       .title = "How large is each dot product?",
       .formula = "queries keysᵀ",
       .from = {"queries", "keys"},
       .axes = {"query", "key"},
       .note = "Entry i, j is qᵢ · kⱼ. There is nothing to learn. Each number of the query meets only the "
               "number in the same place of the key, so both must have the same length, and their numbers "
               "the same meaning.",
       .worked = attn::worked_matmul_transposed(attn::Known{"queries", queries}, attn::Known{"keys", keys}),
       .worked_at = best_match(bench, scores)},
      scores, mistakes_of_dot(bench, queries, keys));
}

Tensor<3> scaled_dot_scores(Workbench& bench, const Tensor<3>& queries, const Tensor<3>& keys) {
  const auto d = bench.d_model();
  const double root = std::sqrt(static_cast<double>(d));
  const auto scores = attn::divide(attn::dot_scores(queries, keys), root);
  return bench.trace.step(
      {.id = "scaled_dot/scores",
       .title = "Dot products divided by √d_model",
       .formula = fmt::format("queries keysᵀ / √{} = queries keysᵀ / {:.4g}", d, root),
       .from = {"queries", "keys"},
       .axes = {"query", "key"},
       .note = "The order of the keys in a row stays, but every lead is √d_model times smaller. The larger "
               "d_model, the more this matters (see the lesson scaling).",
       .worked =
           [&](const attn::Index& at) {
             return attn::worked_matmul_transposed(attn::Known{"queries", queries},
                                                   attn::Known{"keys", keys})(at) /
                    sqrt(attn::Worked(static_cast<double>(d)));
           },
       .worked_at = best_match(bench, scores)},
      scores, mistakes_of_scaled_dot(bench, queries, keys));
}

Tensor<3> general_scores(Workbench& bench, const Tensor<3>& queries, const Tensor<2>& W_a,
                         const Tensor<3>& keys) {
  const auto scores = attn::dot_scores(attn::linear(queries, W_a), keys);
  return bench.trace.step(
      {.id = "general/scores",
       .title = "A dot product with a learned matrix in it",
       .formula = "queries W_a keysᵀ",
       .from = {"queries", "W_a", "keys"},
       .axes = {"query", "key"},
       .note = "Entry i, j is qᵢᵀ W_a kⱼ. Through W_a every number of the query meets every number of the "
               "key, so the two may differ in length and meaning. The Transformer's scores are of this kind: "
               "(x W_Q) (y W_K)ᵀ = x (W_Q W_Kᵀ) yᵀ, with W_Q W_Kᵀ in the place of W_a.",
       .worked =
           [&](const attn::Index& at) {
             const auto projected =
                 attn::worked_linear(attn::Known<3>{"queries", queries}, attn::Known<2>{"W_a", W_a});
             std::vector<attn::Worked> products;
             for (std::size_t k = 0; k < keys.shape(2); ++k)
               products.push_back(attn::Worked::product(
                   {projected({at[0], at[1], k}), attn::Known<3>{"keys", keys}({at[0], at[2], k})}));
             return attn::Worked::sum(std::move(products));
           },
       .worked_at = best_match(bench, scores)},
      scores, mistakes_of_general(queries, W_a, keys));
}

/// Σ |v_a|: what a score of the hidden layer cannot exceed.
double largest_score(const Tensor<1>& v_a) {
  double sum = 0.0;
  for (const double element : v_a) sum += std::abs(element);
  return sum;
}

/// What additive scoring is made of, but for its hidden layer.
struct AdditiveScores {
  Tensor<3> projected_queries, projected_keys;  ///< [batch×query×d_a], [batch×key×d_a]
  Tensor<3> scores;                             ///< [batch×query×key]
};

/// The scores of additive and of concat.
Tensor<3> scores_of_hidden_layer(const ScoringInputs& in) {
  const auto pairs = attn::pairwise_sum(in.q()(in.queries), in.k()(in.keys));
  return attn::dot_last_axis(attn::tanh(pairs), in.v_a);
}

/// The hidden layer is given back before the next function needs one: it has d_a numbers for each pair.
AdditiveScores additive_scores(Workbench& bench, const ScoringInputs& in) {
  auto& trace = bench.trace;
  const auto followed = best_match(bench, scores_of_hidden_layer(in));
  const auto query = followed[0], key = followed[1];

  auto projected_queries =
      show_linear(bench,
                  {.id = "additive/projected_queries",
                   .title = "Query's part",
                   .axes = {"query", "d_a"},
                   .note = about_query_part(bench, in),
                   .worked_at = attn::Index{query, 0}},
                  {"queries", in.queries}, "q", in.q(), mistakes_of_hidden_part(in.queries, in.q(), in.k()));

  auto projected_keys =
      show_linear(bench,
                  {.id = "additive/projected_keys",
                   .title = "Key's part",
                   .axes = {"key", "d_a"},
                   .note = "The key's part needs no query: it is computed once for the whole source.",
                   .worked_at = attn::Index{key, 0}},
                  {"keys", in.keys}, "k", in.k(), mistakes_of_hidden_part(in.keys, in.k(), in.q()));

  const auto hidden = trace.step(
      {.id = "additive/hidden",
       .title = "Each pair",
       .formula = fmt::format("tanh(q W_q{} + k W_k{})", in.b_q ? " + b_q" : "", in.b_k ? " + b_k" : ""),
       .from = {"additive/projected_queries", "additive/projected_keys"},
       .axes = {"query", "key", "d_a"},
       .note = "Without tanh the query would add one number to all scores: no share changes.",
       .worked =
           attn::worked_tanh_of_pairwise_sum(attn::Known<3>{"additive/projected_queries", projected_queries},
                                             attn::Known<3>{"additive/projected_keys", projected_keys}),
       .worked_at = attn::Index{query, key, 0}},
      attn::tanh(attn::pairwise_sum(projected_queries, projected_keys)),
      {{"additive-no-tanh", [&] { return attn::pairwise_sum(projected_queries, projected_keys); }}});

  auto scores =
      trace.step({.id = "additive/scores",
                  .title = "One score a pair",
                  .formula = "hidden · v_a",
                  .from = {"additive/hidden", "v_a"},
                  .axes = {"query", "key"},
                  .note = fmt::format("As |tanh| < 1, no score leaves ±Σ |v_a| = ±{:.4f}; a dot product may.",
                                      largest_score(in.v_a)),
                  .worked = attn::worked_dot_last_axis(attn::Known{"additive/hidden", hidden},
                                                       attn::Known<1>{"v_a", in.v_a}),
                  .worked_at = followed},
                 attn::dot_last_axis(hidden, in.v_a), mistakes_of_pair_scores(hidden, in.v_a));
  return {std::move(projected_queries), std::move(projected_keys), std::move(scores)};
}

/// tanh(pairs W_c): a pair is given back by then, and its numbers are those of a query and a key.
attn::WorkedOut worked_hidden(const ScoringInputs& in, const Tensor<2>& W_c) {
  return [&](const attn::Index& at) {
    const std::size_t width = in.queries.shape(2);
    std::vector<attn::Worked> products;
    for (std::size_t k = 0; k < W_c.shape(0); ++k) {
      const double number = k < width ? in.queries(at[0], at[1], k) : in.keys(at[0], at[2], k - width);
      products.push_back(
          attn::Worked::product({attn::Worked({"concat/pairs", {at[0], at[1], at[2], k}}, number),
                                 attn::Known<2>{"concat/W_c", W_c}({k, at[3]})}));
    }
    if (in.b_q) products.push_back(attn::Known<1>{"b_q", *in.b_q}({at[3]}));
    if (in.b_k) products.push_back(attn::Known<1>{"b_k", *in.b_k}({at[3]}));
    return tanh(attn::Worked::sum(std::move(products)));
  };
}

/// The pairs, too, are given back as soon as the hidden layer has been made of them.
Tensor<3> concat_scores(Workbench& bench, const ScoringInputs& in) {
  auto& trace = bench.trace;
  const auto followed = best_match(bench, scores_of_hidden_layer(in));
  const auto W_c =
      trace.step({.id = "concat/W_c",
                  .title = "Both matrices as one",
                  .formula = "[W_q; W_k]",
                  .from = {"W_q", "W_k"},
                  .axes = {"feature", "d_a"},
                  .note = "W_q on top of W_k. In Luong et al. this is one matrix from the start; here it is "
                          "put together from the matrices of additive, so that the two can be compared.",
                  .worked =
                      [&](const attn::Index& at) {
                        const std::size_t upper = in.W_q.shape(0);
                        if (at[0] < upper) return attn::Known<2>{"W_q", in.W_q}(at);
                        return attn::Known<2>{"W_k", in.W_k}({at[0] - upper, at[1]});
                      }},
                 attn::stack_rows(in.W_q, in.W_k),
                 {{"wrong-projection", [&] { return attn::stack_rows(in.W_k, in.W_q); }}});

  const auto of_pairs = [&](const Tensor<4>& pairs) {
    auto hidden = attn::linear(pairs, W_c);
    for (const auto* bias : {&in.b_q, &in.b_k})
      if (*bias) hidden = hidden + **bias;
    return hidden;
  };
  const auto before_tanh = [&] {
    const auto pairs =
        trace.step({.id = "concat/pairs",
                    .title = "Every query and every key, end to end",
                    .formula = "[queriesᵢ; keysⱼ]",
                    .from = {"queries", "keys"},
                    .axes = {"query", "key", "feature"},
                    .note = "Each query is copied once for every key, and each key once for every query.",
                    .worked =
                        [&](const attn::Index& at) {
                          const std::size_t width = in.queries.shape(2);
                          if (at[3] < width)
                            return attn::Known<3>{"queries", in.queries}({at[0], at[1], at[3]});
                          return attn::Known<3>{"keys", in.keys}({at[0], at[2], at[3] - width});
                        }},
                   attn::pairwise_concat(in.queries, in.keys));
    return of_pairs(pairs);
  };
  attn::About about = {
      .id = "concat/hidden",
      .title = "The hidden layer of each pair",
      .formula = fmt::format("tanh(pairs W_c{}{})", in.b_q ? " + b_q" : "", in.b_k ? " + b_k" : ""),
      .from = {"concat/pairs", "concat/W_c"},
      .axes = {"query", "key", "d_a"},
      .note = "Compare this with additive/hidden: [q; k] [W_q; W_k] is q W_q + k W_k.",
      .worked = worked_hidden(in, W_c),
      .worked_at = attn::Index{followed[0], followed[1], 0}};
  if (in.b_q) about.from.emplace_back("b_q");
  if (in.b_k) about.from.emplace_back("b_k");
  const auto hidden = trace.step(
      about, attn::tanh(before_tanh()),
      {{"additive-no-tanh", [&] { return of_pairs(attn::pairwise_concat(in.queries, in.keys)); }}});

  return trace.step(
      {.id = "concat/scores",
       .title = "One score a pair",
       .formula = "hidden · v_a",
       .from = {"concat/hidden", "v_a"},
       .axes = {"query", "key"},
       .note = "The same scores as additive/scores, at a higher cost: every pair goes through all of W_c.",
       .worked =
           attn::worked_dot_last_axis(attn::Known{"concat/hidden", hidden}, attn::Known<1>{"v_a", in.v_a}),
       .worked_at = followed},
      attn::dot_last_axis(hidden, in.v_a), mistakes_of_pair_scores(hidden, in.v_a));
}

/// What follows from the scores, whatever function they come from: `FUNCTION/masked` where there is a mask,
/// `FUNCTION/weights`, which it returns, and `FUNCTION/context`. `divisor` is what the scores were divided
/// by.
Tensor<3> take_home(Workbench& bench, const std::string& function, const Tensor<3>& scores,
                    const ScoringInputs& in, const std::string& weights_note, const std::string& context_note,
                    double divisor = 1.0) {
  const auto& keys = in.keys;
  const auto last = in.mask ? "masked" : "scores";
  const auto seen =
      in.mask ? bench.trace.step(
                    {.id = function + "/masked",
                     .title = "What is hidden gets −∞",
                     .formula = "scores where mask, −∞ elsewhere",
                     .from = {function + "/scores", "mask"},
                     .axes = {"query", "key"},
                     .worked = attn::worked_mask(attn::Known{function + "/scores", scores}, *in.mask),
                     .worked_at = best_match(bench, scores)},
                    attn::apply_mask(scores, *in.mask), mistakes_of_masked(bench, scores, *in.mask))
              : scores;
  const auto weights = bench.trace.step(
      {.id = function + "/weights",
       .title = "As shares",
       .formula = fmt::format("softmax({})", last),
       .from = {fmt::format("{}/{}", function, last)},
       .axes = {"query", "key"},
       .note = weights_note,
       .distribution = true,
       .worked = attn::worked_softmax(attn::Known{fmt::format("{}/{}", function, last), seen}),
       .worked_at = best_match(bench, seen)},
      attn::softmax(seen), mistakes_of_weights(bench, seen, scores, in.mask, divisor));
  bench.trace.step(
      {.id = function + "/context",
       .title = "A mixture of keys",
       .formula = "weights · keys",
       .from = {function + "/weights", "keys"},
       .axes = {"query", "d_model"},
       .note = context_note,
       .worked = attn::worked_matmul(attn::Known{function + "/weights", weights}, attn::Known{"keys", keys}),
       .worked_at = attn::Index{query_on_page(bench), 0}},
      attn::matmul(weights, keys));
  return weights;
}

void explain_which_state_asks(attn::Trace& trace) {
  trace.note("which-state", "Which state asks?",
             "In a translation model made of recurrent networks the keys are the states of the encoder, and "
             "a state of the decoder asks. Bahdanau et al. ask with its previous state sₜ₋₁, before step t; "
             "Luong et al. with its current state hₜ, after the recurrent network has made step t. The "
             "scoring function is the same for both, and here a query is simply the row of a target word. "
             "But when programs or results are compared, it matters which state asked.",
             "Bahdanau: a(sₜ₋₁, hⱼ)   Luong: score(hₜ, h̄ₛ)");
}

void claim_equivalences(Workbench& bench, const Tensor<3>& queries, const Tensor<3>& keys,
                        const Tensor<1>& v_a, const Tensor<3>& dot, const AdditiveScores& additive,
                        const Tensor<3>& concat) {
  const auto d = static_cast<double>(bench.d_model());
  const double before_tanh =
      attn::max_abs(additive.projected_queries) + attn::max_abs(additive.projected_keys);
  bench.trace.claim(
      {.id = "additive-equals-concat",
       .claim = "concat gives the same scores as additive",
       .formula = "max |additive/scores − concat/scores|",
       .value = attn::max_abs_difference(additive.scores, concat),
       .limit = rounding(bench.trace, static_cast<double>(v_a.size()) * attn::max_abs(v_a) * before_tanh)});

  const Tensor<2> identity = xt::eye<double>(bench.d_model());
  bench.trace.claim(
      {.id = "general-with-identity-equals-dot",
       .claim = "with W_a = identity, general gives the scores of dot",
       .formula = "max |queries I keysᵀ − dot/scores|",
       .value = attn::max_abs_difference(attn::dot_scores(attn::linear(queries, identity), keys), dot),
       .limit = rounding(bench.trace, d * attn::max_abs(queries) * attn::max_abs(keys))});
}

void claim_rows_sum_to_1(Workbench& bench, const std::vector<Scored>& functions) {
  double deviation = 0.0;
  for (const auto& function : functions)
    deviation = attn::maximum({deviation, attn::row_sum_deviation(function.weights)});
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "all rows of weights sum to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = deviation,
                     .limit = rounding(bench.trace)});
}

void run_scoring(Workbench& bench) {
  auto& trace = bench.trace;
  bench.label({"query"}, bench.plan.target);
  bench.label({"key"}, bench.plan.source);
  ScoringInputs in;
  choose_scoring_page(bench, in);
  tell_scoring_idea(bench);
  bench.flow(scoring_flow(bench));
  show_scoring_code(bench, bench.plan.source.is_padded() || bench.trace.is_given("mask"));

  in = draw_inputs(bench);
  const auto& queries = in.queries;
  const auto& keys = in.keys;
  const auto& W_a = in.W_a;
  show_hidden_parameters(bench, in);
  explain_which_state_asks(trace);

  const auto n_q = static_cast<double>(bench.plan.target.length());
  const auto n_k = static_cast<double>(bench.plan.source.length());
  const auto d = static_cast<double>(bench.d_model()), d_a = static_cast<double>(*bench.options.d_a);
  const auto pairs = n_q * n_k, of_hidden_layer = 2 * d * d_a + d_a;
  std::vector<Scored> functions;

  const auto dot = dot_scores(bench, queries, keys);
  functions.push_back({"dot", "q·k", 0, pairs * d,
                       take_home(bench, "dot", dot, in,
                                 "softmax(x)ⱼ = exp(xⱼ) / Σ exp(x): every weight is between 0 and 1 and a "
                                 "row sums to 1. The scores of all five functions go in as they are.",
                                 "Row i is the average of the keys, weighted with row i of the weights.")});

  const auto scaled_dot = scaled_dot_scores(bench, queries, keys);
  functions.push_back(
      {"scaled_dot", "q·k / √d_model", 0, pairs * d,
       take_home(bench, "scaled_dot", scaled_dot, in, "The same preferences as in dot/weights, but milder.",
                 "Row i is the average of the keys, weighted with row i of the weights.", std::sqrt(d))});

  const auto general = general_scores(bench, queries, W_a, keys);
  functions.push_back({"general", "(q W_a)·k", d * d, n_q * d * d + pairs * d,
                       take_home(bench, "general", general, in,
                                 "Another matrix, other preferences: a query may look at other keys than "
                                 "with dot. Training would choose W_a such that the right ones win.",
                                 "A query that now looks at another key takes home another vector.")});

  const auto additive = additive_scores(bench, in);
  functions.push_back(
      {"additive", "v_a·tanh(q W_q + k W_k)", of_hidden_layer, (n_q + n_k) * d * d_a + pairs * d_a,
       take_home(bench, "additive", additive.scores, in,
                 "As the scores are bounded, so are the weights: no key gets more than exp(2 Σ |v_a|) times "
                 "the weight of another.",
                 "The smaller Σ |v_a|, the nearer every row is to the plain average of all keys.")});

  const auto concat = concat_scores(bench, in);
  functions.push_back({"concat", "v_a·tanh([q; k] W_c)", of_hidden_layer, pairs * 2 * d * d_a + pairs * d_a,
                       take_home(bench, "concat", concat, in, "The rows of additive/weights.",
                                 "And so the rows of additive/context.")});
  compare_functions(bench, functions, W_a);
  explain_costs(bench, functions);

  claim_equivalences(bench, queries, keys, in.v_a, dot, additive, concat);
  claim_rows_sum_to_1(bench, functions);
  bench.try_next({{"scoring --scoring general", "a dot product that can be trained"},
                  {"scaling", "why scaled_dot divides by √d_model"}},
                 {{"scoring --scoring concat", "the numbers of additive, by another way"}});
}

std::vector<Input> scoring_inputs(const Options&) {
  return {{"queries", {"query", "d_model"}, Draw::embedding},
          {"keys", {"key", "d_model"}, Draw::embedding},
          {"W_a", {"d_model", "feature=d_model"}, Draw::weight},
          {"W_q", {"d_model", "d_a"}, Draw::weight},
          {"W_k", {"d_model", "d_a"}, Draw::weight},
          {"v_a", {"d_a"}, Draw::weight},
          {"b_q", {"d_a"}, Draw::given},
          {"b_k", {"d_a"}, Draw::given},
          {"mask", {"query", "key"}, Draw::page}};
}

}  // namespace

const Lesson scoring = {
    .name = "scoring",
    .title = "five ways to score how well a query matches a key",
    .teaches =
        "The dot product is not the only way to compare a query with a key. The lesson puts dot, scaled dot, "
        "general, additive (Bahdanau) and concat (Luong) side by side on the same vectors: what each learns, "
        "what it can express, what it costs, and that additive and concat are one function in two notations.",
    .options = {"source", "target", "d-model", "d-a", "scoring", "seed", "rng", "draws", "weight-scale",
                "embeddings", "model", "dtype"},
    .defaults = {.source = {"the small cat"}, .target = {"chat"}, .d_model = 4, .d_a = 3},
    .examples = {"scoring --source \"i love cats\" --target \"j'aime les chats\" --scoring general",
                 "scoring --source \"the cat sat\" --target \"the cat\" --weight-scale xavier"},
    .inputs = scoring_inputs,
    .trained = Trained{.task = "features",
                       .give = give_features,
                       .target_words = "target_words",
                       .hand_made = features_by_hand},
    .probe =
        Probe{{.source = {"a b c d e f g"}, .target = {"h i j k l"}, .d_model = 6, .d_a = 3},
              sharpen_scoring,
              {"dot/context", "scaled_dot/context", "general/context", "additive/context", "concat/context"}},
    .worksheet = Worksheet{{.source = {"the small cat"},
                            .target = {"petit chat"},
                            .d_model = 2,
                            .d_a = 2,
                            .scoring = "general"}},
    .run = run_scoring,
};

}  // namespace lessons

/// Scoring functions: five ways to say how well a query matches a key, on the same queries and keys.
/// Sources: Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
/// appendix A.1.2 (additive); Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine
/// Translation", section 3.1 (dot, general, concat); Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.2.1 (scaled dot).

#include "attn/ops/scoring.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/scoring/mistakes.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

extern const Lesson scoring;

namespace {

/// What the lesson starts from.
struct Inputs {
  Tensor<2> queries, keys;  ///< [query×d_model], [key×d_model]
  Tensor<2> W_a;            ///< [d_model×d_model]
  Tensor<2> W_q, W_k;       ///< [d_model×d_a]
  Tensor<1> v_a;            ///< [d_a]
};

Inputs draw_inputs(Workbench& bench) {
  Inputs in;
  in.queries =
      attn::sample(bench.input<3>({.id = "queries", .title = "What asks: the words of the target"}), 0);
  in.keys = attn::sample(bench.input<3>({.id = "keys", .title = "What is looked through"}), 0);
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
  in.v_a = bench.input<1>({.id = "v_a", .title = "What each hidden unit counts for"});
  return in;
}

bool has_hidden_layer(const Options& options) {
  return options.scoring == "additive" || options.scoring == "concat";
}

/// The query that the page follows: its place among the words of the target.
std::size_t query_on_page(const Workbench& bench) {
  return attn::token_to_work_out(bench.plan.target.length());
}

/// The pair to work out: the followed query and the key that it matches best.
attn::Index best_match(const Workbench& bench, const Tensor<2>& scores) {
  const auto query = query_on_page(bench);
  const double* row = &scores(query, 0);
  return {query, attn::argmax(row, scores.shape(1))};
}

/// Texts of several lines beside each other.
std::string beside_each_other(const std::vector<std::string>& blocks) {
  std::vector<std::string> lines;
  std::size_t width = 0;
  for (const auto& block : blocks) {
    std::size_t i = 0;
    for (std::size_t start = 0; start <= block.size(); ++i) {
      const auto end = std::min(block.find('\n', start), block.size());
      if (i == lines.size()) lines.emplace_back();
      lines[i] = attn::pad_right(lines[i], width) + block.substr(start, end - start);
      start = end + 1;
    }
    for (const auto& line : lines) width = std::max(width, attn::display_width(line) + 5);
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// "1.5" of what was set by hand, else as tables have it.
std::string parameter(double value) {
  auto text = fmt::format("{:g}", value);
  return text.size() <= 4 ? text : fmt::format("{:.4f}", value);
}

/// W_q, W_k and v_a side by side, or below each other where there is no room.
std::string table_of_parameters(const Inputs& in) {
  constexpr std::size_t room = 74;
  const auto rows_of = [](std::string name, const Tensor<2>& matrix) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < matrix.shape(0); ++i) {
      rows.push_back({i == 0 ? name : ""});
      for (std::size_t j = 0; j < matrix.shape(1); ++j) rows.back().push_back(parameter(matrix(i, j)));
    }
    return in_columns(rows);
  };
  Tensor<2> v_a({1, in.v_a.size()});
  std::copy(in.v_a.begin(), in.v_a.end(), v_a.begin());
  const std::vector<std::string> blocks = {rows_of("W_q", in.W_q), rows_of("W_k", in.W_k),
                                           rows_of("v_a", v_a)};
  const auto text = beside_each_other(blocks);
  return attn::display_width(text.substr(0, text.find('\n'))) <= room
             ? text
             : fmt::format("{}", fmt::join(blocks, "\n"));
}

/// The numbers that the hidden layer works with, where a page has room for them.
void show_hidden_parameters(Workbench& bench, const Inputs& in) {
  constexpr std::size_t most = 8;
  if (bench.d_model() > most || *bench.options.d_a > most) return;
  bench.trace.note("parameters",
                   bench.options.model ? "The parameters: training would find them, here they are set by hand"
                                       : "The parameters: training would find them, here they are random",
                   "", table_of_parameters(in));
}

Tensor<2> dot_scores(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys) {
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

Tensor<2> scaled_dot_scores(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys) {
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

Tensor<2> general_scores(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& W_a,
                         const Tensor<2>& keys) {
  const auto scores = attn::dot_scores(attn::matmul(queries, W_a), keys);
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
                 attn::worked_linear(attn::Known<2>{"queries", queries}, attn::Known<2>{"W_a", W_a});
             std::vector<attn::Worked> products;
             for (std::size_t k = 0; k < keys.shape(1); ++k)
               products.push_back(
                   attn::Worked::product({projected({at[0], k}), attn::Known<2>{"keys", keys}({at[1], k})}));
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

/// Why W_q has a negative number on its diagonal: empty where it has none.
std::string about_query_part(const Workbench& bench, const Inputs& in) {
  if (!bench.options.model || !(in.W_q(0, 0) < 0.0) || !(in.W_k(0, 0) > 0.0)) return "";
  return fmt::format("Why {}? The more of an animal the query is, the more the key must be one.",
                     parameter(in.W_q(0, 0)));
}

/// What additive scoring is made of, but for its hidden layer.
struct AdditiveScores {
  Tensor<2> projected_queries, projected_keys;  ///< [query×d_a], [key×d_a]
  Tensor<2> scores;                             ///< [query×key]
};

/// The scores of additive and of concat.
Tensor<2> scores_of_hidden_layer(const Inputs& in) {
  const auto pairs = attn::pairwise_sum(attn::linear(in.queries, in.W_q), attn::linear(in.keys, in.W_k));
  return attn::dot_last_axis(attn::tanh(pairs), in.v_a);
}

/// The hidden layer is given back before the next function needs one: it has d_a numbers for each pair.
AdditiveScores additive_scores(Workbench& bench, const Inputs& in) {
  auto& trace = bench.trace;
  const auto followed = best_match(bench, scores_of_hidden_layer(in));
  const auto query = followed[0], key = followed[1];

  auto projected_queries = trace.step(
      {.id = "additive/projected_queries",
       .title = "Query's part",
       .formula = "queries W_q",
       .from = {"queries", "W_q"},
       .axes = {"query", "d_a"},
       .note = about_query_part(bench, in),
       .worked = attn::worked_linear(attn::Known<2>{"queries", in.queries}, attn::Known<2>{"W_q", in.W_q}),
       .worked_at = attn::Index{query, 0}},
      attn::linear(in.queries, in.W_q), mistakes_of_hidden_part(in.queries, in.W_q, in.W_k));

  auto projected_keys = trace.step(
      {.id = "additive/projected_keys",
       .title = "Key's part",
       .formula = "keys W_k",
       .from = {"keys", "W_k"},
       .axes = {"key", "d_a"},
       .note = "The key's part needs no query: it is computed once for the whole source.",
       .worked = attn::worked_linear(attn::Known<2>{"keys", in.keys}, attn::Known<2>{"W_k", in.W_k}),
       .worked_at = attn::Index{key, 0}},
      attn::linear(in.keys, in.W_k), mistakes_of_hidden_part(in.keys, in.W_k, in.W_q));

  const auto hidden = trace.step(
      {.id = "additive/hidden",
       .title = "Each pair",
       .formula = "tanh(q W_q + k W_k)",
       .from = {"additive/projected_queries", "additive/projected_keys"},
       .axes = {"query", "key", "d_a"},
       .note = "Without tanh the query would add one number to all scores: no share changes.",
       .worked =
           attn::worked_tanh_of_pairwise_sum(attn::Known<2>{"additive/projected_queries", projected_queries},
                                             attn::Known<2>{"additive/projected_keys", projected_keys}),
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
attn::WorkedOut worked_hidden(const Inputs& in, const Tensor<2>& W_c) {
  return [&](const attn::Index& at) {
    const std::size_t width = in.queries.shape(1);
    std::vector<attn::Worked> products;
    for (std::size_t k = 0; k < W_c.shape(0); ++k) {
      const double number = k < width ? in.queries(at[0], k) : in.keys(at[1], k - width);
      products.push_back(attn::Worked::product({attn::Worked({"concat/pairs", {at[0], at[1], k}}, number),
                                                attn::Known<2>{"concat/W_c", W_c}({k, at[2]})}));
    }
    return tanh(attn::Worked::sum(std::move(products)));
  };
}

/// The pairs, too, are given back as soon as the hidden layer has been made of them.
Tensor<2> concat_scores(Workbench& bench, const Inputs& in) {
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
                          const std::size_t width = in.queries.shape(1);
                          if (at[2] < width) return attn::Known<2>{"queries", in.queries}({at[0], at[2]});
                          return attn::Known<2>{"keys", in.keys}({at[1], at[2] - width});
                        }},
                   attn::pairwise_concat(in.queries, in.keys));
    return attn::linear(pairs, W_c);
  };
  const auto hidden = trace.step(
      {.id = "concat/hidden",
       .title = "The hidden layer of each pair",
       .formula = "tanh(pairs W_c)",
       .from = {"concat/pairs", "concat/W_c"},
       .axes = {"query", "key", "d_a"},
       .note = "Compare this with additive/hidden: [q; k] [W_q; W_k] is q W_q + k W_k.",
       .worked = worked_hidden(in, W_c),
       .worked_at = attn::Index{followed[0], followed[1], 0}},
      attn::tanh(before_tanh()),
      {{"additive-no-tanh", [&] { return attn::linear(attn::pairwise_concat(in.queries, in.keys), W_c); }}});

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

/// What follows from the scores, whatever function they come from: `FUNCTION/weights`, which it returns, and
/// `FUNCTION/context`. `divisor` is what the scores were divided by.
Tensor<2> take_home(Workbench& bench, const std::string& function, const Tensor<2>& scores,
                    const Tensor<2>& keys, const std::string& weights_note, const std::string& context_note,
                    double divisor = 1.0) {
  const auto weights =
      bench.trace.step({.id = function + "/weights",
                        .title = "As shares",
                        .formula = "softmax(scores)",
                        .from = {function + "/scores"},
                        .axes = {"query", "key"},
                        .note = weights_note,
                        .distribution = true,
                        .worked = attn::worked_softmax(attn::Known{function + "/scores", scores}),
                        .worked_at = best_match(bench, scores)},
                       attn::softmax(scores), mistakes_of_scored(bench, scores, divisor));
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

/// A scoring function with what it learns, what scoring all pairs costs, and the weights that it gives.
struct Scored {
  std::string name, formula;
  double parameters = 0.0, multiply_adds = 0.0;
  Tensor<2> weights;  ///< [query×key]
};

/// A row a function: its formula and the weights that it gives one query's keys, or the strongest of them
/// where there is no room for all.
std::string comparison_table(const std::vector<Scored>& functions, std::size_t query,
                             const std::vector<std::string>& keys) {
  constexpr std::size_t room = 74;
  const auto table = [&](const std::vector<std::string>& names, auto cells_of) {
    std::vector<std::vector<std::string>> rows = {{""}};
    rows[0].insert(rows[0].end(), names.begin(), names.end());
    for (const auto& function : functions) {
      rows.push_back({fmt::format("{:<12}{}", function.name, function.formula)});
      for (const auto& cell : cells_of(function.weights)) rows.back().push_back(cell);
    }
    return in_columns(rows);
  };

  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(as_row_name(key));
  auto all = table(names, [&](const Tensor<2>& weights) {
    std::vector<std::string> cells;
    for (std::size_t j = 0; j < keys.size(); ++j)
      cells.push_back(fmt::format("{:.2f}", double{weights(query, j)}));
    return cells;
  });
  if (attn::display_width(all.substr(0, all.find('\n'))) <= room) return all;
  return table({"looks most at"}, [&](const Tensor<2>& weights) {
    std::size_t best = 0;
    for (std::size_t j = 1; j < keys.size(); ++j)
      if (weights(query, j) > weights(query, best) + 1e-5) best = j;
    return std::vector<std::string>{
        fmt::format("{} {:.2f}", as_row_name(keys[best]), double{weights(query, best)})};
  });
}

/// Where the multiplications of additive and of concat come from on this run.
std::string sums_of_products(const Workbench& bench) {
  const auto n_q = bench.plan.target.length(), n_k = bench.plan.source.length(), d = bench.d_model(),
             d_a = *bench.options.d_a;
  const auto vectors = n_q + n_k, pairs = n_q * n_k;
  return fmt::format(
      "additive sends {0} vectors through a {1}×{2} matrix, {0} · {3} = {4}, and {12} through v_a, {5} · {2} "
      "= {6}: {7}. concat sends {12} through a {8}×{2} matrix, {5} · {9} = {10}, then through v_a: {11}.",
      vectors, d, d_a, d * d_a, vectors * d * d_a, pairs, pairs * d_a, vectors * d * d_a + pairs * d_a, 2 * d,
      2 * d * d_a, pairs * 2 * d * d_a, pairs * (2 * d + 1) * d_a,
      pairs == 1 ? "one pair" : fmt::format("{} pairs", pairs));
}

void explain_costs(Workbench& bench, const std::vector<Scored>& functions) {
  std::vector<std::vector<std::string>> rows = {{"", "learned", "products"}};
  for (const auto& function : functions)
    rows.push_back({function.name, fmt::format("{:.0f}", function.parameters),
                    fmt::format("{:.0f}", function.multiply_adds)});
  bench.trace.note("costs", "What the five functions cost",
                   "\"learned\" counts the numbers that training sets, \"products\" the multiplications for "
                   "all pairs of a query and a key. " +
                       sums_of_products(bench),
                   in_columns(rows));
}

void compare(Workbench& bench, const std::vector<Scored>& functions) {
  const auto query = query_on_page(bench);
  bench.trace.note("comparison", "Five functions side by side",
                   fmt::format("dot, scaled_dot: q and k must have the same length and meaning.\n"
                               "general: the matrix W_a translates between two lengths or meanings.\n"
                               "additive, concat: a small network learns what matches.\n"
                               "[q; k] is q and then k, W_c is W_q on top of W_k. Right: weights of \"{}\".",
                               as_row_name(bench.plan.target.tokens[0][query])),
                   comparison_table(functions, query, bench.plan.source.tokens[0]));
}

void claim_equivalences(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys,
                        const Tensor<1>& v_a, const Tensor<2>& dot, const AdditiveScores& additive,
                        const Tensor<2>& concat) {
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
       .value = attn::max_abs_difference(attn::dot_scores(attn::matmul(queries, identity), keys), dot),
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

/// How each function is computed, from `queries` and `keys` to `NAME/scores`.
std::vector<std::string> code_of_scores(std::string_view function) {
  if (function == "dot") return {"dot_scores = queries @ keys.T"};
  if (function == "scaled_dot") return {"scaled_dot_scores = queries @ keys.T / np.sqrt(queries.shape[1])"};
  if (function == "general") return {"general_scores = queries @ W_a @ keys.T"};
  if (function == "additive")
    return {"additive_projected_queries = queries @ W_q", "additive_projected_keys    = keys @ W_k",
            "pairs = additive_projected_queries[:, None] + additive_projected_keys",
            "additive_hidden = np.tanh(pairs)  # [:, None]: each query with each key",
            "additive_scores = additive_hidden @ v_a"};
  return {"concat_W_c    = np.vstack([W_q, W_k])",
          "pairs         = np.broadcast_arrays(queries[:, None], keys)",
          "concat_pairs  = np.concatenate(pairs, axis=2)  # [query×key×2·d_model]",
          "concat_hidden = np.tanh(concat_pairs @ concat_W_c)", "concat_scores = concat_hidden @ v_a"};
}

std::vector<std::string> scoring_code(std::string_view function) {
  auto lines = code_of_scores(function);
  lines.push_back(fmt::format("{0}_weights = softmax({0}_scores)", function));
  lines.push_back(fmt::format("{0}_context = {0}_weights @ keys", function));
  return lines;
}

/// The code of the function that the page goes into, then that of the others.
void show_scoring_code(Workbench& bench) {
  bench.trace.within("earlier", [&] { bench.code(softmax_code()); });
  auto lines = scoring_code(bench.options.scoring);
  lines[lines.size() - 2] += "  # softmax() as in lookup";
  bench.code(lines);
  for (const auto* function : {"dot", "scaled_dot", "general", "additive", "concat"})
    if (function != bench.options.scoring)
      bench.trace.within(function, [&] { bench.code(scoring_code(function)); });
}

/// "W_q [3×3], W_k [3×3], v_a [3]"
std::string learned_shapes(const Workbench& bench) {
  const auto& function = bench.options.scoring;
  const auto d = bench.d_model(), d_a = *bench.options.d_a;
  if (function == "general") return fmt::format("W_a [{0}×{0}]", d);
  if (function == "additive") return fmt::format("W_q [{0}×{1}], W_k [{0}×{1}], v_a [{1}]", d, d_a);
  if (function == "concat") return fmt::format("W_c [{0}×{1}], v_a [{1}]", 2 * d, d_a);
  return "";
}

std::vector<std::string> scoring_flow(const Workbench& bench) {
  const auto n_q = bench.plan.target.length(), n_k = bench.plan.source.length(), d = bench.d_model();
  const auto queries = fmt::format("queries [{}×{}]", n_q, d), keys = fmt::format("keys [{}×{}]", n_k, d);
  const auto left = std::max(attn::display_width(queries), attn::display_width(keys)) + 1;
  const auto middle = fmt::format("├ {} → softmax → weights [{}×{}] ", bench.options.scoring, n_q, n_k);
  std::string line;
  for (std::size_t i = 1; i < attn::display_width(middle); ++i) line += "─";
  return {attn::pad_right(queries, left) + "┐ " + learned_shapes(bench),
          attn::pad_right("", left) + middle + "┐",
          fmt::format("{}┴{}┴ context [{}×{}]", attn::pad_right(keys, left), line, n_q, d)};
}

std::string what_a_word_more_of_each_would_do(const attn::Event&) {
  return "One more target word adds a row, one more source word a column.";
}

/// The hidden number that changes the scores of one query most from key to key, and these two keys.
struct Telling {
  std::size_t unit = 0, highest = 0, lowest = 0;
  double spread = -1.0;
};

/// The hidden numbers [key×d_a] of the query on the page.
class HiddenOfQuery {
 public:
  HiddenOfQuery(const attn::Event& hidden, std::size_t query)
      : tensor_(*hidden.tensor), first_(query * tensor_.shape[1]) {}

  std::size_t keys() const { return tensor_.shape[1]; }
  std::size_t units() const { return tensor_.shape[2]; }
  double at(std::size_t key, std::size_t unit) const { return tensor_.at((first_ + key) * units() + unit); }

  /// Where number `unit` is largest and where it is smallest.
  Telling extremes_of(std::size_t unit) const {
    Telling found{.unit = unit};
    for (std::size_t key = 1; key < keys(); ++key) {
      if (at(key, unit) > at(found.highest, unit)) found.highest = key;
      if (at(key, unit) < at(found.lowest, unit)) found.lowest = key;
    }
    found.spread = at(found.highest, unit) - at(found.lowest, unit);
    return found;
  }

 private:
  const attn::TensorView& tensor_;
  std::size_t first_;
};

/// " Hidden 1 and 2 hardly differ from key to key.": which of them are nearly the same for all keys.
std::string which_hardly_differ(const HiddenOfQuery& hidden) {
  constexpr double hardly = 0.1;
  constexpr std::size_t most = 4;
  std::vector<std::string> units;
  for (std::size_t unit = 0; unit < hidden.units(); ++unit)
    if (hidden.extremes_of(unit).spread < hardly) units.push_back(std::to_string(unit));
  if (units.empty() || units.size() > most) return "";
  return fmt::format(" Hidden {} hardly differ{} from key to key.", fmt::join(units, " and "),
                     units.size() == 1 ? "s" : "");
}

/// What the hidden numbers of the query on the page say about its keys.
std::string about_hidden(const Workbench& bench, const attn::Event& event, const Tensor<1>& v_a) {
  const bool are_votes = std::all_of(v_a.begin(), v_a.end(), [](double number) { return number > 0.0; });
  const std::string meaning = are_votes ? "A hidden number is like a vote: near +1 for a match, near −1 "
                                          "against it. v_a says how much it counts."
                                        : "A hidden number lies between −1 and +1. Its number of v_a says "
                                          "how much it raises or lowers the score.";
  const auto query = query_on_page(bench);
  const HiddenOfQuery hidden(event, query);
  Telling most;
  for (std::size_t unit = 0; unit < hidden.units(); ++unit) {
    auto found = hidden.extremes_of(unit);
    found.spread *= std::abs(v_a(unit));
    if (found.spread > most.spread) most = found;
  }
  if (!(most.spread > 0.0)) return meaning;
  const auto& keys = bench.plan.source.tokens[0];
  return fmt::format("{} Hidden {} tells the keys of \"{}\" apart: \"{}\" gets {:.4f}, \"{}\" {:.4f}.{}",
                     meaning, most.unit, as_row_name(bench.plan.target.tokens[0][query]),
                     as_row_name(keys[most.highest]), hidden.at(most.highest, most.unit),
                     as_row_name(keys[most.lowest]), hidden.at(most.lowest, most.unit),
                     which_hardly_differ(hidden));
}

/// The context of the query on the page, where it has few numbers.
std::string context_in_words(const Workbench& bench, const attn::Event& weights, const Tensor<2>& keys) {
  constexpr std::size_t most = 4;
  if (keys.shape(1) > most) return "";
  const auto query = query_on_page(bench);
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < keys.shape(1); ++j) {
    double number = 0.0;
    for (std::size_t key = 0; key < keys.shape(0); ++key)
      number += weights.tensor->at(query * keys.shape(0) + key) * keys(key, j);
    numbers.push_back(fmt::format("{:.4f}", number));
  }
  const bool is_one = bench.plan.target.length() == 1;
  return fmt::format(
      "Mixing the keys by {} shares gives {} context: {}.", is_one ? "these" : "its",
      is_one ? "the" : fmt::format("\"{}\" its", as_row_name(bench.plan.target.tokens[0][query])),
      fmt::join(numbers, ", "));
}

/// The page goes into one function; the others are a --scoring away. The inputs are drawn later.
void page_of_scoring(Workbench& bench, const Inputs& in) {
  const auto& function = bench.options.scoring;
  std::vector<attn::OnPage> page = {
      {"idea"},
      {"flow"},
      {"code"},
  };
  const auto add = [&](std::vector<attn::OnPage> events) {
    page.insert(page.end(), events.begin(), events.end());
  };
  add({{"queries", nothing_to_notice}, {"keys", nothing_to_notice}});
  if (has_hidden_layer(bench.options)) add({{"parameters"}});
  if (function == "general") add({{"W_a"}});
  if (function == "additive")
    add({attn::without_table("additive/projected_queries", {}),
         attn::without_table("additive/projected_keys"),
         {"additive/hidden",
          [&](const attn::Event& hidden) { return about_hidden(bench, hidden, in.v_a); }}});
  if (function == "concat")
    add({attn::in_one_line("concat/W_c"),
         attn::in_one_line("concat/pairs"),
         {"concat/hidden", [&](const attn::Event& hidden) { return about_hidden(bench, hidden, in.v_a); }}});
  add({{function + "/scores", what_a_word_more_of_each_would_do},
       {function + "/weights",
        [&](const attn::Event& weights) { return context_in_words(bench, weights, in.keys); }}});
  add({{"comparison"}});
  bench.trace.page(std::move(page), {"additive-equals-concat", "general-with-identity-equals-dot"});
}

/// Words by three features: is it an animal, is it small, is it a word of grammar? The weights are chosen so
/// that each function finds the word of the same meaning. W_q moves the hidden unit of the query's own
/// feature to where tanh is steep and the others to where it is flat.
attn::Model features() {
  return {.task = "features",
          .configuration = {},
          .vocabularies = {{"words", {"the", "a", "small", "big", "cat", "dog", "mouse"}},
                           {"target_words", {"le", "un", "petit", "grand", "chat", "chien", "souris"}}},
          .scores = {},
          .command = "",
          .tensors = {{"words", {7, 3}, {0.2, 0.1, 1.5, 0.1, 0.2, 1.4,  0.3, 1.6, 0.2, 0.3, -1.6,
                                         0.2, 1.5, 0.8, 0.1, 1.5, -0.4, 0.1, 1.4, 1.6, 0.1}},
                      {"target_words", {7, 3}, {0.1, 0,   1.6, 0.2, 0.1, 1.5,  0.2, 1.6, 0.1, 0.2, -1.6,
                                                0.1, 1.6, 0.7, 0,   1.6, -0.3, 0,   1.5, 1.5, 0}},
                      {"W_a", {3, 3}, {2, 0, 0, 0, 1, 0, 0, 0, 2}},
                      {"W_q", {3, 3}, {-2, 2, 2, 2, -2, 2, 2, 2, -2}},
                      {"W_k", {3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2}},
                      {"v_a", {3}, {1.5, 1.5, 1.5}}},
          .training = {}};
}

void give_features(ModelInputs& inputs) {
  if (inputs.source().size() != 1 || inputs.target().size() != 1) return;  // is refused later
  inputs.give_rows("queries", inputs.rows("target_words", "target_words", inputs.target()));
  inputs.give_rows("keys", inputs.rows("words", "words", inputs.source()));
  for (const auto* id : {"W_a", "W_q", "W_k"}) inputs.give(id, inputs.matrix(id));
  inputs.give("v_a", inputs.vector("v_a"));
}

/// The score of one query q and one key k.
std::string_view formula_of_score(std::string_view function) {
  if (function == "dot") return "q · k";
  if (function == "scaled_dot") return "q · k / √d_model";
  if (function == "general") return "q W_a · k";
  if (function == "additive") return "v_a · tanh(q W_q + k W_k)";
  return "v_a · tanh([q; k] W_c),   [q; k] W_c = q W_q + k W_k";
}

std::string idea_of_scoring(const Workbench& bench) {
  const auto& function = bench.options.scoring;
  auto idea =
      "Lookup scored a key by its dot product with the query. Both then need the same length, and each place "
      "must mean the same in both. " +
      (function == "dot"
           ? "This page does so again and then compares four other ways."
           : fmt::format("This page works out another way, {}, and then compares five.", function)) +
      "\nEach target word is a query q, each source word a key k and its own value.";
  if (bench.options.model)
    idea += " A word has three numbers: how much animal, how small, how much grammar it is.";
  if (has_hidden_layer(bench.options))
    idea += "\nW_q, W_k and v_a are learned. tanh puts each number between −1 and 1.";
  return idea;
}

void run_scoring(Workbench& bench) {
  auto& trace = bench.trace;
  bench.label({"query"}, bench.plan.target);
  bench.label({"key"}, bench.plan.source);
  Inputs in;
  page_of_scoring(bench, in);
  bench.idea(idea_of_scoring(bench), fmt::format("score(q, k) = {}\ncontext = softmax(scores) · keys",
                                                 formula_of_score(bench.options.scoring)));
  bench.flow(scoring_flow(bench));
  show_scoring_code(bench);

  in = draw_inputs(bench);
  const auto& [queries, keys, W_a, W_q, W_k, v_a] = in;
  show_hidden_parameters(bench, in);
  explain_which_state_asks(trace);

  const auto n_q = static_cast<double>(bench.plan.target.length());
  const auto n_k = static_cast<double>(bench.plan.source.length());
  const auto d = static_cast<double>(bench.d_model()), d_a = static_cast<double>(*bench.options.d_a);
  const auto pairs = n_q * n_k, of_hidden_layer = 2 * d * d_a + d_a;
  std::vector<Scored> functions;

  const auto dot = dot_scores(bench, queries, keys);
  functions.push_back({"dot", "q·k", 0, pairs * d,
                       take_home(bench, "dot", dot, keys,
                                 "softmax(x)ⱼ = exp(xⱼ) / Σ exp(x): every weight is between 0 and 1 and a "
                                 "row sums to 1. The scores of all five functions go in as they are.",
                                 "Row i is the average of the keys, weighted with row i of the weights.")});

  const auto scaled_dot = scaled_dot_scores(bench, queries, keys);
  functions.push_back(
      {"scaled_dot", "q·k / √d_model", 0, pairs * d,
       take_home(bench, "scaled_dot", scaled_dot, keys, "The same preferences as in dot/weights, but milder.",
                 "Row i is the average of the keys, weighted with row i of the weights.", std::sqrt(d))});

  const auto general = general_scores(bench, queries, W_a, keys);
  functions.push_back({"general", "q W_a·k", d * d, n_q * d * d + pairs * d,
                       take_home(bench, "general", general, keys,
                                 "Another matrix, other preferences: a query may look at other keys than "
                                 "with dot. Training would choose W_a such that the right ones win.",
                                 "A query that now looks at another key takes home another vector.")});

  const auto additive = additive_scores(bench, in);
  functions.push_back(
      {"additive", "v_a·tanh(q W_q + k W_k)", of_hidden_layer, (n_q + n_k) * d * d_a + pairs * d_a,
       take_home(bench, "additive", additive.scores, keys,
                 "As the scores are bounded, so are the weights: no key gets more than exp(2 Σ |v_a|) times "
                 "the weight of another.",
                 "The smaller Σ |v_a|, the nearer every row is to the plain average of all keys.")});

  const auto concat = concat_scores(bench, in);
  functions.push_back({"concat", "v_a·tanh([q; k] W_c)", of_hidden_layer, pairs * 2 * d * d_a + pairs * d_a,
                       take_home(bench, "concat", concat, keys, "The rows of additive/weights.",
                                 "And so the rows of additive/context.")});
  compare(bench, functions);
  explain_costs(bench, functions);

  claim_equivalences(bench, queries, keys, v_a, dot, additive, concat);
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
          {"v_a", {"d_a"}, Draw::weight}};
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
    .takes_batches = false,
    .defaults = {.source = {"the small cat"}, .target = {"chat"}, .d_model = 4, .d_a = 3},
    .examples = {"scoring --source \"i love cats\" --target \"j'aime les chats\" --scoring general",
                 "scoring --source \"the cat sat\" --target \"the cat\" --weight-scale xavier"},
    .inputs = scoring_inputs,
    .trained =
        Trained{
            .task = "features", .give = give_features, .target_words = "target_words", .hand_made = features},
    .probe = Probe{{.source = {"a b c d e f g"}, .target = {"h i j k l"}, .d_model = 6, .d_a = 3},
                   sharpen_scoring},
    .worksheet = Worksheet{{.source = {"the small cat"},
                            .target = {"petit chat"},
                            .d_model = 2,
                            .d_a = 2,
                            .scoring = "general"}},
    .run = run_scoring,
};

}  // namespace lessons

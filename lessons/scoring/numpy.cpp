#include <fmt/format.h>

#include <string_view>

#include "lessons/scoring.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

namespace {

/// How each function is computed, from `queries` and `keys` to `NAME/scores`.
std::vector<std::string> code_of_scores(const Workbench& bench, std::string_view function) {
  const auto& given = bench.plan.given;
  const std::string b_q = given.count("b_q") > 0 ? " + b_q" : "",
                    b_k = given.count("b_k") > 0 ? " + b_k" : "";
  if (function == "dot") return {"dot_scores = queries @ keys.T"};
  if (function == "scaled_dot") return {"scaled_dot_scores = queries @ keys.T / np.sqrt(queries.shape[1])"};
  if (function == "general") return {"general_scores = queries @ W_a @ keys.T"};
  if (function == "additive")
    return {"additive_projected_queries = queries @ W_q" + b_q,
            "additive_projected_keys    = keys @ W_k" + b_k,
            "pairs = additive_projected_queries[:, None] + additive_projected_keys",
            "additive_hidden = np.tanh(pairs)  # [:, None]: each query with each key",
            "additive_scores = additive_hidden @ v_a"};
  return {"concat_W_c    = np.vstack([W_q, W_k])",
          "pairs         = np.broadcast_arrays(queries[:, None], keys)",
          "concat_pairs  = np.concatenate(pairs, axis=2)  # [query×key×2·d_model]",
          "concat_hidden = np.tanh(concat_pairs @ concat_W_c" + b_q + b_k + ")",
          "concat_scores = concat_hidden @ v_a"};
}

std::vector<std::string> scoring_code(const Workbench& bench, std::string_view function, bool is_masked) {
  auto lines = code_of_scores(bench, function);
  if (is_masked) lines.push_back(fmt::format("{0}_masked = np.where(mask, {0}_scores, -np.inf)", function));
  lines.push_back(fmt::format("{0}_weights = softmax({0}_{1})", function, is_masked ? "masked" : "scores"));
  lines.push_back(fmt::format("{0}_context = {0}_weights @ keys", function));
  return lines;
}

}  // namespace

void show_scoring_code(Workbench& bench, bool is_masked) {
  bench.trace.within("earlier", [&] { bench.code(softmax_code()); });
  auto lines = scoring_code(bench, bench.options.scoring, is_masked);
  lines[lines.size() - 2] += "  # softmax() as in lookup";
  bench.code(lines);
  for (const auto* function : {"dot", "scaled_dot", "general", "additive", "concat"})
    if (function != bench.options.scoring)
      bench.trace.within(function, [&] { bench.code(scoring_code(bench, function, is_masked)); });
}

}  // namespace lessons

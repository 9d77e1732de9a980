#include "lessons/scoring/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "attn/text/width.hpp"
#include "lessons/workbench/columns.hpp"

namespace lessons {

namespace {

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
  auto all = table(names, [&](const Tensor<3>& weights) {
    std::vector<std::string> cells;
    for (std::size_t j = 0; j < keys.size(); ++j)
      cells.push_back(fmt::format("{:.2f}", double{weights(0, query, j)}));
    return cells;
  });
  if (attn::display_width(all.substr(0, all.find('\n'))) <= room) return all;
  return table({"looks most at"}, [&](const Tensor<3>& weights) {
    std::size_t best = 0;
    for (std::size_t j = 1; j < keys.size(); ++j)
      if (weights(0, query, j) > weights(0, query, best) + 1e-5) best = j;
    return std::vector<std::string>{
        fmt::format("{} {:.2f}", as_row_name(keys[best]), double{weights(0, query, best)})};
  });
}

/// ". It has 2, 1, 2 on its diagonal, else 0": all numbers of a small diagonal matrix, or where to see them.
std::string numbers_of(const Tensor<2>& W_a) {
  constexpr std::size_t most = 4;
  const std::string elsewhere = " (--steps W_a)";
  if (W_a.shape(0) > most) return elsewhere;
  std::vector<double> diagonal;
  for (std::size_t i = 0; i < W_a.shape(0); ++i)
    for (std::size_t j = 0; j < W_a.shape(1); ++j) {
      if (i == j) diagonal.push_back(W_a(i, j));
      if (i != j && W_a(i, j) != 0.0) return elsewhere;
    }
  return fmt::format(". It has {:g} on its diagonal, else 0", fmt::join(diagonal, ", "));
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

}  // namespace

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

void compare_functions(Workbench& bench, const std::vector<Scored>& functions, const Tensor<2>& W_a) {
  const auto query = query_on_page(bench);
  bench.trace.note("comparison",
                   fmt::format("Five functions side by side: the weights of \"{}\"",
                               as_row_name(bench.plan.target.tokens[0][query])),
                   fmt::format("dot, scaled_dot: q and k must have the same length and meaning.\n"
                               "general: W_a translates q for k{}.\n"
                               "concat: additive with one matrix. [q; k] is q, then k; W_c is W_q above W_k.",
                               numbers_of(W_a)),
                   comparison_table(functions, query, bench.plan.source.tokens[0]));
}

}  // namespace lessons

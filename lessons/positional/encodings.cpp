#include "lessons/positional/encodings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

Tensor<3> scores_of_tokens(const Tensor<3>& X) {
  return attn::divide(attn::matmul(X, attn::transpose(X)), std::sqrt(static_cast<double>(X.shape(2))));
}

attn::WorkedOut worked_scores_of_tokens(attn::Known<3> X) {
  return [product = attn::worked_matmul_transposed(X, X), d = X.tensor.shape(2)](const attn::Index& at) {
    return product(at) / sqrt(attn::Worked(static_cast<double>(d)));
  };
}

Tensor<4> of_one_head(const Tensor<3>& scores) {
  return attn::split_heads(scores, 1);
}

std::string scaling_formula(const std::string& product, std::size_t d) {
  return fmt::format("{0} / √{1} = {0} / {2:.4g}", product, d, std::sqrt(static_cast<double>(d)));
}

double certain_change_of(const Tensor<2>& table) {
  std::set<std::vector<double>> rows;
  const auto width = static_cast<std::ptrdiff_t>(table.shape(1));
  for (auto row = table.begin(); row != table.end(); row += width) rows.insert({row, row + width});
  return rows.size() == table.shape(0) ? 0.01 * attn::max_abs(table) : 0.0;
}

double room_for_angles(const attn::Trace& trace, std::size_t n) {
  return std::max(
      1.0, 4.0 * attn::largest_rounding_error(trace.dtype(), static_cast<double>(n)) / rounding(trace).bound);
}

std::string weights_code(const std::string& group, const std::optional<Mask<3>>& mask) {
  return mask ? fmt::format("{0}_weights = softmax(np.where(mask, {0}_scores, -np.inf))", group)
              : fmt::format("{0}_weights = softmax({0}_scores)", group);
}

void show_code(Workbench& bench, const std::string& name, const std::optional<Mask<3>>& mask,
               std::vector<std::string> lines, const std::vector<std::string>& after) {
  const auto code = bench.trace.full_id("code");
  const std::string source = "# softmax(): lesson lookup";
  if (mask) lines.push_back(source);
  lines.push_back(weights_code(code.substr(0, code.find('/')), mask) + (mask ? "" : "  " + source));
  lines.insert(lines.end(), after.begin(), after.end());
  bench.trace.note("code", name + " in NumPy", "", fmt::format("{}", fmt::join(lines, "\n")));
}

template <std::size_t N>
attn::WorkedOut worked_weights(attn::Known<N> scores, const std::optional<Mask<3>>& mask) {
  if (!mask) return attn::worked_softmax(scores);
  return attn::worked_softmax(attn::worked_mask(scores, *mask), mask->shape(2));
}

template <std::size_t N>
Tensor<N> show_weights(Workbench& bench, const Tensor<N>& scores, const std::optional<Mask<3>>& mask,
                       const std::string& note) {
  const auto seen = mask ? attn::apply_mask(scores, *mask) : scores;
  const auto axes =
      N == 4 ? std::vector<std::string>{"head", "query", "key"} : std::vector<std::string>{"query", "key"};
  return bench.trace.step(
      {.id = "weights",
       .title = "Shares of attention",
       .formula = mask ? "softmax(scores where mask, −∞ elsewhere)" : "softmax(scores)",
       .from = mask ? std::vector<std::string>{"scores", "mask"} : std::vector<std::string>{"scores"},
       .axes = axes,
       .note = note,
       .distribution = true,
       .worked = worked_weights(attn::Known{"scores", scores}, mask)},
      attn::softmax(seen), mistakes_of_shares(bench, scores, seen, mask, bench.d_model()));
}

template Tensor<3> show_weights(Workbench&, const Tensor<3>&, const std::optional<Mask<3>>&,
                                const std::string&);
template Tensor<4> show_weights(Workbench&, const Tensor<4>&, const std::optional<Mask<3>>&,
                                const std::string&);

}  // namespace lessons

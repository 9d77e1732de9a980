#include <fmt/format.h>

#include "attn/ops/mask.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

std::vector<std::string> given_biases(const Workbench& bench, const std::string& group) {
  std::vector<std::string> ids;
  for (const std::string id : {"b_Q", "b_K", "b_V", "b_O"})
    if (bench.plan.given.count(group + id) > 0) ids.push_back(id);
  return ids;
}

std::vector<std::string> multihead_code(const Workbench& bench, const std::optional<Mask<3>>& mask) {
  const auto& options = bench.options;
  const auto n = bench.plan.sentence.length(), h = bench.heads(), h_kv = bench.kv_heads();
  const auto split = [n](const char* name, std::size_t heads, std::size_t d, const char* shape = "") {
    return fmt::format("{0}_heads = {0}.reshape({1}, {2}, {3}).swapaxes(0, 1){4}", name, n, heads, d, shape);
  };
  const auto shared = h == h_kv ? "" : fmt::format(".repeat({}, axis=0)", h / h_kv);
  const auto temperature = options.temperature == 1.0 ? "" : fmt::format(" / {}", options.temperature);
  const bool sees_nothing = mask && attn::has_empty_row(*mask);

  auto lines = projection_code(bench, "X", "X");
  lines.insert(
      lines.end(),
      {split("Q", h, bench.d_k(), "  # tokens, heads, d_k"), split("K", h_kv, bench.d_k()),
       split("V", h_kv, bench.d_v()), fmt::format("scores  = Q_heads @ K_heads{}.swapaxes(1, 2)", shared),
       fmt::format("scaled  = scores / np.sqrt({}){}  # d_k", bench.d_k(), temperature)});
  if (mask) lines.push_back("masked  = np.where(mask, scaled, -np.inf)");
  const std::string seen = mask ? "masked" : "scaled";
  lines.push_back(fmt::format("shares  = np.exp({0} - {0}.max(axis=2, keepdims=True))", seen));
  lines.push_back(sees_nothing ? "weights = np.nan_to_num(shares / shares.sum(axis=2, keepdims=True))"
                               : "weights = shares / shares.sum(axis=2, keepdims=True)");
  const bool drops = options.dropout > 0.0;
  if (drops) lines.push_back(fmt::format("dropped = weights * dropout_mask / {}", 1.0 - options.dropout));
  lines.push_back(fmt::format("heads   = {} @ V_heads{}", drops ? "dropped" : "weights", shared));
  lines.push_back(fmt::format("concat  = heads.swapaxes(0, 1).reshape({}, {})", n, h * bench.d_v()));
  lines.push_back("output  = concat @ W_O" + bias_code(bench, "O"));
  if (options.residual) lines.push_back("residual = X + output");
  if (options.norm) {
    const std::string x = options.residual ? "residual" : "output";
    lines.push_back(fmt::format("centred = {0} - {0}.mean(axis=1, keepdims=True)", x));
    lines.push_back("spread  = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)");
    lines.push_back("normalized = centred / spread * norm_gain + norm_bias");
  }
  return lines;
}

}  // namespace lessons

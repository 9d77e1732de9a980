#include "lessons/complexity/claims.hpp"

#include <fmt/format.h>

namespace lessons {

namespace {

void claim_growth(Workbench& bench, Costs& costs) {
  const std::size_t n = bench.options.lengths.back(), d = bench.d_model();
  const auto claim = [&](const std::string& id, const std::string& text, const std::string& layer,
                         const Size& from, const Size& to, double factor) {
    bench.trace.claim({.id = id,
                       .claim = text,
                       .formula = fmt::format("{}/multiply_adds: n = {}, d = {} over n = {}, d = {}", layer,
                                              to.n, to.d, from.n, from.d),
                       .value = static_cast<double>(costs.multiply_adds(layer, to)) /
                                static_cast<double>(costs.multiply_adds(layer, from)),
                       .limit = attn::exactly(factor)});
  };
  claim("recurrence-in-n", "a sequence twice as long makes a recurrence twice the work: n, not n³",
        "recurrence", {n, d}, {2 * n, d}, 2.0);
  claim("recurrence-in-d", "vectors twice as long make it four times the work: d²", "recurrence", {n, d},
        {n, 2 * d}, 4.0);
  claim("full-in-n", "a sequence twice as long makes full attention four times the work: n²", "full", {n, d},
        {2 * n, d}, 4.0);
  claim("full-in-d", "vectors twice as long make it twice the work: d", "full", {n, d}, {n, 2 * d}, 2.0);
  claim("linear-in-n", "a sequence twice as long makes linear attention twice the work: n", "linear", {n, d},
        {2 * n, d}, 2.0);
}

void claim_rest(Workbench& bench, Costs& costs, const std::optional<std::size_t>& crossing) {
  const std::size_t n = bench.options.lengths.back(), d = bench.d_model();
  auto& trace = bench.trace;
  if (crossing)
    trace.claim({.id = "full-overtakes-recurrence",
                 .claim = "full attention takes more multiply-adds than a recurrence from n = d + 1 on",
                 .formula = "crossing with recurrence",
                 .value = static_cast<double>(*crossing),
                 .limit = attn::exactly(static_cast<double>(d + 1))});
  trace.claim({.id = "recurrence-waits",
               .claim = "a recurrence waits for itself n times",
               .formula = fmt::format("recurrence/sequential_steps at n = {}", n),
               .value = static_cast<double>(costs.of("recurrence", {n, d}).sequential_steps),
               .limit = attn::exactly(static_cast<double>(n))});
  trace.claim({.id = "full-is-direct",
               .claim = "in full attention any token reads any other in one step",
               .formula = fmt::format("full/path_length at n = {}", n),
               .value = static_cast<double>(costs.of("full", {n, d}).path_length),
               .limit = attn::exactly(1.0)});
  if (n >= *bench.options.block)
    trace.claim({.id = "flash-memory",
                 .claim = "the scores that flash attention holds do not grow with n",
                 .formula = fmt::format("flash/score_bytes at n = {} − at n = {}", 2 * n, n),
                 .value = static_cast<double>(costs.of("flash", {2 * n, d}).work.score_bytes -
                                              costs.of("flash", {n, d}).work.score_bytes),
                 .limit = attn::exactly(0.0)});
}

}  // namespace

void claim_complexity(Workbench& bench, Costs& costs, const std::optional<std::size_t>& crossing) {
  claim_growth(bench, costs);
  claim_rest(bench, costs, crossing);
}


}  // namespace lessons

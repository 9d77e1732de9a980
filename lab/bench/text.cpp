#include "page/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attn/budget.hpp"
#include "attn/text/width.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/bench/statistics.hpp"
#include "lab/bench/curves.hpp"
#include "lab/bench/report.hpp"
#include "lab/bench/table.hpp"

namespace lab {

namespace {

using attn::bench::Effort;
using attn::bench::LengthResult;
using attn::bench::Pass;
using attn::bench::Statistics;

std::string tick_text(double seconds) {
  const auto unit = unit_for(seconds);
  return fmt::format("{:.3g} {}", seconds * unit.per_second, unit.name);
}

std::string in_quartiles(const attn::bench::Quartiles& seconds) {
  const double per_second = unit_for(seconds.median).per_second;
  return digits(seconds.lower * per_second) + "–" + digits(seconds.upper * per_second);
}

std::string gflops(double rate) {
  return digits(rate / 1e9);
}

std::string heading(const BenchReport& report) {
  const auto& run = report.run;
  const auto& setting = run.setting;
  const auto kernels = run.kernels.empty() ? "" : fmt::format("  kernels={}", fmt::join(run.kernels, ","));
  const auto options = fmt::format(
      "n={}  d_k={}  d_v={}  heads={}  kv_heads={}{}{}  scores={}  dtype={}  threads={}  isa={}  "
      "OpenBLAS={}  rounds={}",
      fmt::join(run.lengths, ","), setting.d_k, setting.d_v, setting.heads, setting.kv_heads,
      words_on_masks(setting), kernels, name_of(setting.scores), run.dtype, setting.threads, report.isa,
      report.blas_core, run.effort.rounds);
  return report_heading("bench: attention kernels timed against each other as n grows", options);
}

const std::vector<Row> column_names = {
    {"", "", "", "GFLOP", "of", "of", "speed-", "", ""},
    {"kernel", "median", "quartiles", "/s", "gemm", "peak", "up", "memory", "rounding"}};

Row row_of(const Statistics& statistics) {
  return {statistics.kernel,
          in_time(statistics.seconds.median),
          in_quartiles(statistics.seconds),
          gflops(statistics.rate),
          fmt::format("{:.2f}", statistics.share_of_product),
          fmt::format("{:.2f}", statistics.share_of_peak),
          statistics.speedup ? digits(*statistics.speedup) : "",
          statistics.extra_bytes ? attn::in_bytes(*statistics.extra_bytes) : "",
          statistics.error == 0.0 ? "0" : fmt::format("{:.0e}", statistics.error)};
}

/// "  backward / forward: plain 2.1, simd 2.4"; nothing where no kernel has the ratio.
std::string ratio_line(const std::string& name, const std::vector<Statistics>& all, Pass pass,
                       std::optional<double> Statistics::*ratio, const char* format = "{} {:.2f}") {
  Row items;
  for (const auto& statistics : all)
    if (statistics.pass == pass && statistics.*ratio)
      items.push_back(fmt::format(fmt::runtime(format), statistics.kernel, *(statistics.*ratio)));
  return items.empty() ? "" : page_paragraph(fmt::format("{}: {}", name, fmt::join(items, ", ")), 2);
}

/// Says how many rounds were run where time ran out.
std::string rounds_run(const LengthResult& result, const Effort& effort) {
  const auto rounds = result.product_rates.size();
  return static_cast<int>(rounds) < effort.rounds ? fmt::format("; {} of {} rounds", rounds, effort.rounds)
                                                  : "";
}

std::string table(const LengthResult& result, const Effort& effort, const std::vector<Statistics>& all,
                  Pass pass) {
  std::vector<Row> rows = column_names;
  for (const auto& statistics : all)
    if (statistics.pass == pass) rows.push_back(row_of(statistics));
  if (rows.size() == column_names.size()) return "";
  return fmt::format("\nn = {}, {}: gemm at {} GFLOP/s, peak at {}{}\n\n", result.setting.n, name_of(pass),
                     gflops(attn::bench::median(result.product_rates)),
                     gflops(attn::bench::median(result.peak_rates)), rounds_run(result, effort)) +
         aligned(rows) +
         ratio_line("off from full attention", all, pass, &Statistics::relative_error, "{} {:.2g}") +
         ratio_line("time / time with all keys visible", all, pass, &Statistics::of_full) +
         ratio_line("time / time of forward", all, pass, &Statistics::of_forward);
}

std::string tables(const LengthResult& result, const Effort& effort) {
  const auto all = attn::bench::statistics_of(result);
  return table(result, effort, all, Pass::forward) + table(result, effort, all, Pass::backward);
}

/// "1.97", or a dash where too few lengths were timed.
std::string exponent_of(const attn::bench::Growth& growth) {
  return growth.exponent ? fmt::format("{:.2f}", *growth.exponent) : "–";
}

std::string growth(const BenchReport& report) {
  const auto growths = attn::bench::growth_of(report.result.lengths);
  std::vector<Row> rows = {{"kernel", "pass", "exponent", "fitted over n ="}};
  for (const auto& growth : growths)
    rows.push_back({growth.kernel, std::string(name_of(growth.pass)), exponent_of(growth),
                    fmt::format("{}", fmt::join(growth.lengths, ", "))});
  if (growths.empty()) return "";
  const bool is_fitted =
      std::all_of(growths.begin(), growths.end(), [](const auto& one) { return one.exponent.has_value(); });
  return "\nTime grows as a power of n\n\n" + aligned(rows) +
         (is_fitted ? "" : "\n" + page_paragraph("–: two lengths give no exponent. Name three or more.", 2));
}

std::string chart(const BenchReport& report, Pass pass) {
  const auto curves = time_curves(report.result, pass);
  if (curves.lines.empty()) return "";
  return fmt::format("\nTime of a run, {}, over n, both scales logarithmic\n\n", name_of(pass)) +
         attn::format_chart(curves, tick_text, page_width);
}

std::string omissions(const BenchReport& report) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> lengths;
  for (const auto& [kernel, n, reason] : report.result.omissions) lengths[{kernel, reason}].push_back(n);
  std::string text;
  for (const auto& [kernel_and_reason, ns] : lengths)
    text += page_paragraph(fmt::format("{} at n = {}: {}", kernel_and_reason.first, fmt::join(ns, ", "),
                                       kernel_and_reason.second),
                           2);
  return text.empty() ? "" : "\nLeft out\n\n" + text;
}

std::string legend() {
  const std::size_t size = attn::bench::SquareProduct<float>::size;
  const std::vector<std::pair<std::string, std::string>> words = {
      {"GFLOP/s",
       "thousand millions of useful multiplications and additions a second: 4 n² d for a head forward and 10 "
       "n² d backward, of which the pairs that are visible count, and 4 n d² in linear kernels"},
      {"of gemm", fmt::format("relative to the rate of BLAS on a product of two {0} × {0} matrices", size)},
      {"of peak", "relative to the rate of multiply-adds on numbers in registers"},
      {"speed-up", "over xtensor, the lessons' steps as whole tensors"},
      {"memory",
       "allocated at one time besides inputs and outputs, by a single run; stacks of threads and BLAS's own "
       "buffers do not count; backward includes the forward pass before it"},
      {"rounding",
       "the largest difference of a number from the same attention in plain loops in float64, not relative "
       "to its size"},
      {"off",
       "from full attention: the largest difference of a number from it, relative to the largest number that "
       "it gives; what a variant leaves out or puts in place of the softmax, and no rounding. The "
       "relative "
       "error of attnlab efficient, on these numbers"},
      {"variants",
       "as attnlab efficient calls them: tiled and simd are flash attention, linear-… linear and sparse-… "
       "sparse; with --window exact kernels compute local attention, and with --causal sliding. --kernels "
       "takes these names, too"},
      {"ratios", "are medians of the ratios within a round"}};
  std::string text = "\nWhat the words mean\n\n";
  for (const auto& [word, meaning] : words) {
    const auto lines = page_paragraph(meaning, 12);
    text += attn::pad_right("  " + word, 12) + lines.substr(12);
  }
  return text;
}

}  // namespace

std::string bench_text(const BenchReport& report) {
  std::string text = heading(report);
  for (const auto& result : report.result.lengths) text += tables(result, report.run.effort);
  return text + growth(report) + chart(report, Pass::forward) + chart(report, Pass::backward) +
         omissions(report) + legend();
}

}  // namespace lab

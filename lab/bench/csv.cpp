#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fast/bench/statistics.hpp"
#include "lab/bench/report.hpp"

namespace lab {

namespace {

using attn::bench::LengthResult;
using attn::bench::Statistics;

/// The shortest text that reads as the same number.
std::string text_of(double number) {
  return fmt::format("{}", number);
}

std::string text_of(const std::optional<double>& number) {
  return number ? text_of(*number) : "";
}

using Columns = std::vector<std::pair<std::string, std::string>>;

Columns condition_columns(const BenchReport& report) {
  const auto& setting = report.run.setting;
  return {{"d_k", std::to_string(setting.d_k)},
          {"d_v", std::to_string(setting.d_v)},
          {"heads", std::to_string(setting.heads)},
          {"kv_heads", std::to_string(setting.kv_heads)},
          {"causal", setting.causal ? "1" : "0"},
          {"window", setting.window ? std::to_string(*setting.window) : ""},
          {"scores", std::string(name_of(setting.scores))},
          {"dtype", report.run.dtype},
          {"threads", std::to_string(setting.threads)},
          {"isa", report.isa},
          {"openblas", report.blas_core}};
}

Columns measurements(const Statistics& statistics, const LengthResult& result) {
  return {{"n", std::to_string(statistics.n)},
          {"kernel", statistics.kernel},
          {"pass", std::string(name_of(statistics.pass))},
          {"rounds", std::to_string(statistics.rounds)},
          {"operations", text_of(statistics.operations)},
          {"median_seconds", text_of(statistics.seconds.median)},
          {"lower_quartile_seconds", text_of(statistics.seconds.lower)},
          {"upper_quartile_seconds", text_of(statistics.seconds.upper)},
          {"gflops", text_of(statistics.rate / 1e9)},
          {"gemm_gflops", text_of(attn::bench::median(result.product_rates) / 1e9)},
          {"peak_gflops", text_of(attn::bench::median(result.peak_rates) / 1e9)},
          {"share_of_gemm", text_of(statistics.share_of_product)},
          {"share_of_peak", text_of(statistics.share_of_peak)},
          {"times_xtensor", text_of(statistics.speedup)},
          {"of_full", text_of(statistics.of_full)},
          {"of_forward", text_of(statistics.of_forward)},
          {"extra_bytes", text_of(statistics.extra_bytes)},
          {"max_error", text_of(statistics.error)},
          {"variant", statistics.variant},
          {"relative_error", text_of(statistics.relative_error)}};
}

std::string line(const Columns& columns, std::string Columns::value_type::*part) {
  std::vector<std::string_view> cells;
  for (const auto& column : columns) cells.push_back(column.*part);
  return fmt::format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string bench_csv(const BenchReport& report) {
  std::string text;
  for (const auto& result : report.result.lengths)
    for (const auto& statistics : attn::bench::statistics_of(result)) {
      auto columns = measurements(statistics, result);
      const auto others = condition_columns(report);
      columns.insert(columns.end(), others.begin(), others.end());
      if (text.empty()) text = line(columns, &Columns::value_type::first);
      text += line(columns, &Columns::value_type::second);
    }
  return text;
}

}  // namespace lab

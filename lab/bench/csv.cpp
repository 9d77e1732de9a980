#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fast/bench/figures.hpp"
#include "lab/bench/report.hpp"

namespace lab {

namespace {

using attn::bench::Figures;
using attn::bench::Heat;

/// The shortest text that reads as the same number.
std::string text_of(double number) {
  return fmt::format("{}", number);
}

std::string text_of(const std::optional<double>& number) {
  return number ? text_of(*number) : "";
}

using Columns = std::vector<std::pair<std::string, std::string>>;

Columns conditions(const BenchReport& report) {
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

Columns measurements(const Figures& figures, const Heat& heat) {
  return {{"n", std::to_string(figures.n)},
          {"kernel", figures.kernel},
          {"pass", std::string(name_of(figures.pass))},
          {"rounds", std::to_string(figures.rounds)},
          {"operations", text_of(figures.operations)},
          {"median_seconds", text_of(figures.seconds.median)},
          {"lower_quartile_seconds", text_of(figures.seconds.lower)},
          {"upper_quartile_seconds", text_of(figures.seconds.upper)},
          {"gflops", text_of(figures.rate / 1e9)},
          {"gemm_gflops", text_of(attn::bench::median(heat.product_rates) / 1e9)},
          {"peak_gflops", text_of(attn::bench::median(heat.peak_rates) / 1e9)},
          {"share_of_gemm", text_of(figures.share_of_product)},
          {"share_of_peak", text_of(figures.share_of_peak)},
          {"times_xtensor", text_of(figures.times_faster)},
          {"of_full", text_of(figures.of_full)},
          {"of_forward", text_of(figures.of_forward)},
          {"extra_bytes", text_of(figures.extra_bytes)},
          {"max_error", text_of(figures.error)}};
}

std::string line(const Columns& columns, std::string Columns::value_type::*part) {
  std::vector<std::string_view> cells;
  for (const auto& column : columns) cells.push_back(column.*part);
  return fmt::format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string bench_csv(const BenchReport& report) {
  std::string text;
  for (const auto& heat : report.result.heats)
    for (const auto& figures : attn::bench::figures_of(heat)) {
      auto columns = measurements(figures, heat);
      const auto others = conditions(report);
      columns.insert(columns.end(), others.begin(), others.end());
      if (text.empty()) text = line(columns, &Columns::value_type::first);
      text += line(columns, &Columns::value_type::second);
    }
  return text;
}

}  // namespace lab

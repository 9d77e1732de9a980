#include <nlohmann/json.hpp>

#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"
#include "lab/bench/report.hpp"
#include "trace/csv.hpp"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;
using attn::bench::LengthResult;
using attn::bench::Statistics;

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json config(const BenchReport& report) {
  const auto& run = report.run;
  const auto& setting = run.setting;
  return {{"lengths", run.lengths},
          {"d_k", setting.d_k},
          {"d_v", setting.d_v},
          {"heads", setting.heads},
          {"kv_heads", setting.kv_heads},
          {"causal", setting.causal},
          {"window", optional(setting.window)},
          {"scores", name_of(setting.scores)},
          {"dtype", run.dtype},
          {"kernels", run.kernels.empty() ? Json() : Json(run.kernels)},
          {"backward", setting.backward},
          {"threads", setting.threads},
          {"isa", report.isa},
          {"openblas", report.blas_core},
          {"rounds", run.effort.rounds},
          {"seconds", run.effort.seconds}};
}

Json kernel(const Statistics& statistics) {
  const auto& series = *statistics.series;
  return {{"kernel", series.kernel},
          {"pass", name_of(series.pass)},
          {"operations", series.operations},
          {"median_seconds", statistics.seconds.median},
          {"lower_quartile_seconds", statistics.seconds.lower},
          {"upper_quartile_seconds", statistics.seconds.upper},
          {"gflops", statistics.rate / 1e9},
          {"share_of_gemm", statistics.share_of_product},
          {"share_of_peak", statistics.share_of_peak},
          {"times_xtensor", optional(statistics.speedup)},
          {"of_full", optional(statistics.of_full)},
          {"of_forward", optional(statistics.of_forward)},
          {"extra_bytes", optional(series.extra_bytes)},
          {"max_error", series.error},
          {"variant", series.variant},
          {"relative_error", optional(series.relative_error)},
          {"seconds", series.seconds}};
}

Json length(const LengthResult& result) {
  Json kernels = Json::array();
  for (const auto& statistics : attn::bench::statistics_of(result)) kernels.push_back(kernel(statistics));
  const auto gemm_size = attn::bench::SquareProduct<float>::size;
  return {{"n", result.setting.n},
          {"gemm_size", gemm_size},
          {"gemm_rates", result.product_rates},
          {"peak_rates", result.peak_rates},
          {"kernels", kernels}};
}

Json exponents(const BenchReport& report) {
  Json exponents = Json::array();
  for (const auto& growth : attn::bench::growth_of(report.result.lengths))
    exponents.push_back({{"kernel", growth.kernel},
                         {"pass", name_of(growth.pass)},
                         {"exponent", optional(growth.exponent)},
                         {"lengths", growth.lengths}});
  return exponents;
}

Json omitted_kernels(const BenchReport& report) {
  Json omissions = Json::array();
  for (const auto& [kernel, n, reason] : report.result.omissions)
    omissions.push_back({{"kernel", kernel}, {"n", n}, {"reason", reason}});
  return omissions;
}

/// One measurement: the members of JSON that are numbers or words, and what all of them share.
Json row_of_csv(const Json& of_kernel, const Json& of_run, const LengthResult& result) {
  Json row = {{"n", result.setting.n}};
  for (const auto& [name, value] : of_kernel.items()) {
    if (name != "seconds") row[name] = value;
    if (name == "pass") row["rounds"] = result.product_rates.size();
    if (name != "gflops") continue;
    row["gemm_gflops"] = attn::bench::median(result.product_rates) / 1e9;
    row["peak_gflops"] = attn::bench::median(result.peak_rates) / 1e9;
  }
  for (const auto* name : {"d_k", "d_v", "heads", "kv_heads", "causal", "window", "scores", "dtype",
                           "threads", "isa", "openblas"})
    row[name] = of_run.at(name);
  return row;
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  Json lengths = Json::array();
  for (const auto& result : report.result.lengths) lengths.push_back(length(result));
  const Json document = {{"schema", "attnlab.bench/1"},
                         {"config", config(report)},
                         {"lengths", lengths},
                         {"exponents", exponents(report)},
                         {"omitted", omitted_kernels(report)}};
  return document.dump(1) + "\n";
}

std::string bench_csv(const BenchReport& report) {
  Json rows;
  const auto of_run = config(report);
  for (const auto& result : report.result.lengths)
    for (const auto& statistics : attn::bench::statistics_of(result))
      rows.push_back(row_of_csv(kernel(statistics), of_run, result));
  return attn::csv_of(rows);
}

}  // namespace lab

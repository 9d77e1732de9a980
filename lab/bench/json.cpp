#include <nlohmann/json.hpp>

#include "fast/bench/baselines.hpp"
#include "fast/bench/statistics.hpp"
#include "lab/bench/report.hpp"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;
using attn::bench::LengthResult;
using attn::bench::Series;
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

Json kernel(const Statistics& statistics, const Series& series) {
  return {{"kernel", statistics.kernel},
          {"pass", name_of(statistics.pass)},
          {"operations", statistics.operations},
          {"median_seconds", statistics.seconds.median},
          {"lower_quartile_seconds", statistics.seconds.lower},
          {"upper_quartile_seconds", statistics.seconds.upper},
          {"gflops", statistics.rate / 1e9},
          {"share_of_gemm", statistics.share_of_product},
          {"share_of_peak", statistics.share_of_peak},
          {"times_xtensor", optional(statistics.speedup)},
          {"of_full", optional(statistics.of_full)},
          {"of_forward", optional(statistics.of_forward)},
          {"extra_bytes", optional(statistics.extra_bytes)},
          {"max_error", statistics.error},
          {"variant", statistics.variant},
          {"relative_error", optional(statistics.relative_error)},
          {"seconds", series.seconds}};
}

Json length(const LengthResult& result) {
  const auto statistics = attn::bench::statistics_of(result);
  Json kernels = Json::array();
  for (std::size_t i = 0; i < statistics.size(); ++i)
    kernels.push_back(kernel(statistics[i], result.series[i]));
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
                         {"exponent", growth.exponent ? Json(*growth.exponent) : Json(nullptr)},
                         {"lengths", growth.lengths}});
  return exponents;
}

Json omitted_kernels(const BenchReport& report) {
  Json omissions = Json::array();
  for (const auto& [kernel, n, reason] : report.result.omissions)
    omissions.push_back({{"kernel", kernel}, {"n", n}, {"reason", reason}});
  return omissions;
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

}  // namespace lab

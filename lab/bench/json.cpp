#include <nlohmann/json.hpp>

#include "fast/bench/figures.hpp"
#include "fast/bench/yardstick.hpp"
#include "lab/bench/report.hpp"

namespace lab {

namespace {

using Json = nlohmann::ordered_json;
using attn::bench::Figures;
using attn::bench::Heat;
using attn::bench::Series;

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

Json kernel(const Figures& figures, const Series& series) {
  return {{"kernel", figures.kernel},
          {"pass", name_of(figures.pass)},
          {"operations", figures.operations},
          {"median_seconds", figures.seconds.median},
          {"lower_quartile_seconds", figures.seconds.lower},
          {"upper_quartile_seconds", figures.seconds.upper},
          {"gflops", figures.rate / 1e9},
          {"share_of_gemm", figures.share_of_product},
          {"share_of_peak", figures.share_of_peak},
          {"times_xtensor", optional(figures.times_faster)},
          {"of_full", optional(figures.of_full)},
          {"of_forward", optional(figures.of_forward)},
          {"extra_bytes", optional(figures.extra_bytes)},
          {"max_error", figures.error},
          {"seconds", series.seconds}};
}

Json length(const Heat& heat) {
  const auto figures = attn::bench::figures_of(heat);
  Json kernels = Json::array();
  for (std::size_t i = 0; i < figures.size(); ++i) kernels.push_back(kernel(figures[i], heat.series[i]));
  const auto gemm_size = attn::bench::SquareProduct<float>::size;
  return {{"n", heat.setting.n},
          {"gemm_size", gemm_size},
          {"gemm_rates", heat.product_rates},
          {"peak_rates", heat.peak_rates},
          {"kernels", kernels}};
}

Json exponents(const BenchReport& report) {
  Json exponents = Json::array();
  for (const auto& growth : attn::bench::growth_of(report.result.heats))
    exponents.push_back({{"kernel", growth.kernel},
                         {"pass", name_of(growth.pass)},
                         {"exponent", growth.exponent},
                         {"lengths", growth.lengths}});
  return exponents;
}

Json omissions(const BenchReport& report) {
  Json omissions = Json::array();
  for (const auto& [kernel, n, reason] : report.result.omissions)
    omissions.push_back({{"kernel", kernel}, {"n", n}, {"reason", reason}});
  return omissions;
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  Json lengths = Json::array();
  for (const auto& heat : report.result.heats) lengths.push_back(length(heat));
  const Json document = {{"schema", "attnlab.bench/1"},
                         {"config", config(report)},
                         {"lengths", lengths},
                         {"exponents", exponents(report)},
                         {"omitted", omissions(report)}};
  return document.dump(1) + "\n";
}

}  // namespace lab

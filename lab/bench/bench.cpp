#include "lab/bench/bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "attn/error.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/gemm.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "trace/csv.hpp"

namespace lab {

namespace {

using attn::bench::LengthResult;
using attn::bench::Result;
using attn::bench::Statistics;
using attn::simd::Isa;
using Json = nlohmann::ordered_json;

/// The arguments of this program.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

/// OpenBLAS uses the kernels of a processor that has the same instructions and no better ones. It reads the
/// variable while the program is loaded, so the program has to be loaded again.
void hold_blas_to(Isa isa) {
#ifdef __x86_64__
  constexpr const char* cores[] = {"Prescott", "Haswell", "SkylakeX"};
  const char* const variable = "OPENBLAS_CORETYPE";
  const std::string core = cores[static_cast<std::size_t>(isa)];
  const char* const current = std::getenv(variable);
  if (current != nullptr && current == core) return;
  setenv(variable, core.c_str(), 1);
  auto arguments = own_arguments();
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  throw attn::Error("--isa cannot be forced: the program cannot be started again; valid: no --isa");
#else
  static_cast<void>(isa);
#endif
}

Result measure(const RunBench& run) {
  const auto settings = settings_of(run);
  ProgressBar bar;
  const auto progress = [&](double share, const std::string& next) { bar.show(share, next); };
  return run.dtype == "float32"
             ? attn::bench::run_benchmark<float>(settings, run.kernels, run.effort, progress)
             : attn::bench::run_benchmark<double>(settings, run.kernels, run.effort, progress);
}

/// Null where there is none.
template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
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
          {"extra_bytes", optional(series.trial.extra_bytes)},
          {"max_error", series.trial.error},
          {"variant", series.variant},
          {"relative_error", optional(series.trial.relative_error)},
          {"seconds", series.seconds}};
}

Json length(const LengthResult& result) {
  Json kernels = Json::array();
  for (const auto& statistics : attn::bench::statistics_of(result)) kernels.push_back(kernel(statistics));
  return {{"n", result.setting.n},
          {"gemm_size", attn::bench::product_size},
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

/// The document that data/README.md describes.
std::string bench_json(const BenchReport& report) {
  Json lengths = Json::array();
  for (const auto& result : report.result.lengths) lengths.push_back(length(result));
  const Json document = {{"schema", "attnlab.bench/1"},
                         {"config", config_of(report)},
                         {"lengths", lengths},
                         {"exponents", exponents(report)},
                         {"omitted", omitted_kernels(report)}};
  return document.dump(1) + "\n";
}

/// A line of names and one for each pass of a kernel at a length.
std::string bench_csv(const BenchReport& report) {
  Json rows;
  const auto of_run = config_of(report);
  for (const auto& result : report.result.lengths)
    for (const auto& statistics : attn::bench::statistics_of(result))
      rows.push_back(row_of_csv(kernel(statistics), of_run, result));
  return attn::csv_of(rows);
}

}  // namespace

std::vector<attn::bench::Setting> settings_of(const RunBench& run) {
  std::vector<attn::bench::Setting> settings(run.lengths.size(), run.setting);
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i].n = run.lengths[i];
  return settings;
}

nlohmann::ordered_json config_of(const BenchReport& report) {
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

std::string options_line(const Json& config) {
  std::vector<std::string> options;
  for (const auto& [name, value] : config.items()) {
    if (value.is_null() || value == Json(false)) continue;
    std::vector<std::string> parts;
    for (const auto& part : value.is_array() ? value : Json::array({value}))
      parts.push_back(part.is_string() ? part.get<std::string>() : part.dump());
    options.push_back(value.is_boolean() ? name : fmt::format("{}={}", name, fmt::join(parts, ",")));
  }
  return fmt::format("{}", fmt::join(options, "  "));
}

void run_bench(const RunBench& run) {
  if (run.on_ranks) return run_bench_on_ranks(run);
  const auto format = format_asked_for(run.format, run.output, bench_formats);
  if (format == BenchFormat::svg && run.lengths.size() < 2)
    throw attn::Error(fmt::format(
        "--format svg draws times over n, and --lengths {} is one point; valid: two lengths or more",
        run.lengths.front()));
  if (run.output) require_writable(*run.output);
  if (run.isa) {
    attn::simd::use(*run.isa);
    hold_blas_to(*run.isa);
  }
  const BenchReport report{.run = run,
                           .isa = std::string(name_of(attn::simd::isa_in_use())),
                           .blas_core = attn::fast::blas_core(),
                           .result = measure(run)};
  const auto text = format == BenchFormat::json  ? bench_json(report)
                    : format == BenchFormat::csv ? bench_csv(report)
                    : format == BenchFormat::svg ? bench_svg(report)
                                                 : bench_text(report);
  run.output ? write_to_file(*run.output, text) : write_to_stdout(text);
}

}  // namespace lab

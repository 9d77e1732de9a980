#include "lab/bench/bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "attn/error.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/gemm.hpp"
#include "lab/bench/report.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

using attn::bench::Result;
using attn::simd::Isa;

BenchFormat format_of(const RunBench& run) {
  if (run.format) return *run.format;
  return format_of_ending<BenchFormat>(run.output.value_or(""), {{".txt", BenchFormat::text},
                                                                 {".json", BenchFormat::json},
                                                                 {".csv", BenchFormat::csv},
                                                                 {".svg", BenchFormat::svg}});
}

/// The processor whose kernels OpenBLAS is to use: one that has the same instructions and no better ones.
const char* core_with(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "SkylakeX";
    case Isa::avx2:
      return "Haswell";
    default:
      return "Prescott";
  }
}

/// The arguments of this program.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

/// OpenBLAS reads the variable while the program is loaded, so the program has to be loaded again.
void hold_blas_to(Isa isa) {
#ifdef __x86_64__
  const char* const variable = "OPENBLAS_CORETYPE";
  const char* const current = std::getenv(variable);
  if (current != nullptr && std::string_view(current) == core_with(isa)) return;
  setenv(variable, core_with(isa), 1);
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

std::string report_in(BenchFormat format, const BenchReport& report) {
  switch (format) {
    case BenchFormat::json:
      return bench_json(report);
    case BenchFormat::csv:
      return bench_csv(report);
    case BenchFormat::svg:
      return bench_svg(report);
    default:
      return bench_text(report);
  }
}

}  // namespace

std::vector<attn::bench::Setting> settings_of(const RunBench& run) {
  std::vector<attn::bench::Setting> settings(run.lengths.size(), run.setting);
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i].n = run.lengths[i];
  return settings;
}

void run_bench(const RunBench& run) {
  if (run.on_ranks) return run_bench_on_ranks(run);
  const auto format = format_of(run);
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
  const auto text = report_in(format, report);
  run.output ? write_to_file(*run.output, text) : write_to_stdout(text);
}

}  // namespace lab

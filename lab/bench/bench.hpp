#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fast/bench/benchmark.hpp"
#include "fast/ranks/ring.hpp"
#include "fast/simd/isa.hpp"

namespace lab {

enum class BenchFormat { text, json, csv, svg };
inline const std::vector<std::pair<std::string, BenchFormat>> bench_formats = {{"text", BenchFormat::text},
                                                                               {"json", BenchFormat::json},
                                                                               {"csv", BenchFormat::csv},
                                                                               {"svg", BenchFormat::svg}};

/// Attention kernels timed against one another, or the fastest one on the ranks of mpirun.
struct RunBench {
  attn::bench::Setting setting{};  ///< at each of the lengths
  std::vector<std::size_t> lengths{128, 256, 512, 1024, 2048};
  std::vector<std::string> kernels{};  ///< all where there are none
  attn::bench::Effort effort{};
  std::string dtype = "float32";
  std::optional<attn::simd::Isa> isa{};  ///< forced, on OpenBLAS as well; the best one where not given
  std::optional<BenchFormat> format{};   ///< where not given it follows the ending of `output`
  std::optional<std::string> output{};
  bool on_ranks = false;
  attn::fast::Order order = attn::fast::Order::contiguous;  ///< of the ranks' blocks
};

/// The setting at each of the lengths.
std::vector<attn::bench::Setting> settings_of(const RunBench& run);

/// Measures, with a bar on stderr where that is a terminal, and shows what was measured. Where an instruction
/// set is forced, the program first replaces itself by a new start with OPENBLAS_CORETYPE set. Throws
/// attn::Error for what cannot be measured here.
void run_bench(const RunBench& run);

/// The same on the ranks that mpirun started; rank 0 shows it. Throws attn::Error where there are none.
void run_bench_on_ranks(const RunBench& run);

/// The options, the machine and the results of a benchmark.
struct BenchReport {
  const RunBench& run;
  std::string isa;
  std::string blas_core;  ///< that OpenBLAS chose its kernels for
  attn::bench::Result result;
};

/// A table for each length, how times grow, and a chart of them.
std::string bench_text(const BenchReport& report);

/// The options of a report as its document has them.
nlohmann::ordered_json config_of(const BenchReport& report);

/// Times and rates over n on logarithmic scales. Throws attn::Error where no kernel was timed forward
/// at two lengths.
std::string bench_svg(const BenchReport& report);

/// A title, a rule, and the options below it.
std::string report_heading(const std::string& title, const std::string& options);

/// "d_k=64  causal  dtype=float32": what is set of the options that a document of a report has.
std::string options_line(const nlohmann::ordered_json& config);

using Row = std::vector<std::string>;

/// Three digits, but no more than two after the point.
std::string digits(double value);

/// "1.93 s", "12.4 ms".
std::string in_time(double seconds);

/// Rows of the same number of columns, the first one to the left and the others to the right, as far apart as
/// a line allows.
std::string aligned(const std::vector<Row>& rows);

}  // namespace lab

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fast/bench/benchmark.hpp"
#include "fast/bench/kernel.hpp"
#include "lab/bench/bench.hpp"

namespace lab {

/// The options, the machine and the results of a benchmark.
struct BenchReport {
  const RunBench& run;
  std::string isa;
  std::string blas_core;  ///< that OpenBLAS chose its kernels for
  attn::bench::Result result;
};

/// A table for each length, how times grow, and a chart of them.
std::string bench_text(const BenchReport& report);

/// The document that data/README.md describes.
std::string bench_json(const BenchReport& report);

/// A line of names and one for each pass of a kernel at a length.
std::string bench_csv(const BenchReport& report);

/// Times and rates over n on logarithmic scales. Throws attn::Error where no kernel was timed forward
/// at two lengths.
std::string bench_svg(const BenchReport& report);

/// The columns of a report.
inline constexpr std::size_t page_width = 80;

/// A title, a rule, and the options below it.
std::string report_heading(const std::string& title, const std::string& options);

/// "  causal  window=2": what hides keys; empty where nothing does.
std::string words_on_masks(const attn::bench::Setting& setting);

using Row = std::vector<std::string>;

/// A unit for times, with how many there are in a second.
struct Unit {
  const char* name;
  double per_second;
};

Unit unit_for(double seconds);

/// Three digits, but no more than two after the point.
std::string digits(double value);

/// "1.93 s", "12.4 ms".
std::string in_time(double seconds);

/// Rows of the same number of columns, the first one to the left and the others to the right, as far apart as
/// a line allows.
std::string aligned(const std::vector<Row>& rows);

/// The lines of a text that is as wide as a page.
std::string page_paragraph(const std::string& text, std::size_t indent);

}  // namespace lab

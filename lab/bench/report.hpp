#pragma once

#include <string>

#include "fast/bench/benchmark.hpp"
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

}  // namespace lab

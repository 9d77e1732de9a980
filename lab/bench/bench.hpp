#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast/bench/benchmark.hpp"
#include "fast/ranks/ring.hpp"
#include "fast/simd/isa.hpp"

namespace lab {

enum class BenchFormat { text, json, csv, svg };

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

}  // namespace lab

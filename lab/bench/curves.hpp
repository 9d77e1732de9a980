#pragma once

#include "fast/bench/benchmark.hpp"
#include "page/curve.hpp"

namespace lab {

/// Median seconds of a run over n, and useful GFLOP/s beside those of the matrix product and of the loop in
/// registers: a line for each kernel that was timed at two lengths or more, both scales logarithmic. No line
/// at all where there is no such kernel.
attn::Curves time_curves(const attn::bench::Result& result, attn::bench::Pass pass);
attn::Curves rate_curves(const attn::bench::Result& result, attn::bench::Pass pass);

}  // namespace lab

#pragma once

#include <string_view>
#include <vector>

#include "fast/linear/problem.hpp"

namespace attn::linear_time {

/// One way to compute linear attention. All take any lengths.
struct Kernel {
  int number;
  std::string_view name;      ///< "plain", "simd"
  std::string_view improves;  ///< what it changes over the one before and why that is faster, in a sentence
  void (*forward32)(const Forward<float>&);
  void (*forward64)(const Forward<double>&);
};

/// All kernels, in the order of their numbers, on which the later ones are faster.
const std::vector<Kernel>& kernels();

/// Multiplications and additions that a call needs, for GFLOP/s: 2 d_k d_v for each key and each query. What
/// the chunks of a causal kernel add to that is overhead.
double operations(const Sizes& sizes);

}  // namespace attn::linear_time

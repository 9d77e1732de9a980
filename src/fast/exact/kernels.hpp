#pragma once

#include <string_view>
#include <vector>

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// One way to compute exact attention, forward and backward.
struct Kernel {
  int number;
  std::string_view name;      ///< "plain", "blas", "tiled", "simd"
  std::string_view improves;  ///< what it changes over the one before and why that is faster, in a sentence
  bool (*fits)(const Sizes& sizes);
  std::string_view takes;  ///< which sizes fit, where not all do: "d_k and d_v up to 256"
  void (*forward32)(const Forward<float>&);
  void (*forward64)(const Forward<double>&);
  void (*backward32)(const Backward<float>&);
  void (*backward64)(const Backward<double>&);
};

/// All kernels, in the order of their numbers: each takes one more step towards speed.
const std::vector<Kernel>& kernels();

/// The fastest kernel that fits.
const Kernel& fastest(const Sizes& sizes);

}  // namespace attn::exact

#pragma once

#include <string_view>
#include <vector>

#include "fast/sparse/problem.hpp"

namespace attn::block_sparse {

/// One way to compute block-sparse attention.
struct Kernel {
  int number;
  std::string_view name;      ///< "plain", "simd"
  std::string_view improves;  ///< what it changes over the one before and why that is faster, in a sentence
  bool (*fits)(const exact::Sizes& sizes);
  std::string_view takes;  ///< which sizes fit, where not all do
  void (*forward32)(const Forward<float>&);
  void (*forward64)(const Forward<double>&);
};

/// All kernels, in the order of their numbers, on which the later ones are faster.
const std::vector<Kernel>& kernels();

}  // namespace attn::block_sparse

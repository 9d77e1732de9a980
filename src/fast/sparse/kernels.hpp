#pragma once

#include <string_view>
#include <vector>

#include "fast/exact/kernels.hpp"
#include "fast/sparse/pattern.hpp"

/// Block-sparse attention: exact attention to the keys of some blocks only. Time is proportional to the
/// number of blocks that are kept.
namespace attn::block_sparse {

/// Of the keys that a query sees, a pattern keeps those in the listed blocks. A query that no key is left for
/// gets the output 0.
template <class T>
struct Forward {
  exact::Forward<T> exact;
  const fast::BlockPattern* pattern = nullptr;
};

/// One kernel. All throw std::invalid_argument where the pattern does not fit the lengths.
struct Kernel {
  std::string_view name;  ///< "plain", "simd"
  bool (*fits)(const fast::Sizes& sizes);
  std::string_view limits;  ///< which sizes fit, where not all do
  void (*forward32)(const Forward<float>&);
  void (*forward64)(const Forward<double>&);

  void forward(const Forward<float>& problem) const { forward32(problem); }
  void forward(const Forward<double>& problem) const { forward64(problem); }
};

/// Kernel 1, plain loops, the reference of the other, and kernel 2, the SIMD tiles of exact attention.
const std::vector<Kernel>& kernels();

}  // namespace attn::block_sparse

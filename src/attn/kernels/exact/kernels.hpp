#pragma once

#include <string_view>
#include <vector>

#include "attn/kernels/exact/problem.hpp"

namespace attn::exact {

/// One way to compute exact attention, forward and backward.
struct Kernel {
  int number;
  std::string_view name;      ///< "plain", "blas", "tiled", "simd"
  std::string_view improves;  ///< what it changes over the one before and why that is faster, in a sentence
  bool (*fits)(const Sizes& sizes);
  void (*forward32)(const Forward<float>&);
  void (*forward64)(const Forward<double>&);
  void (*backward32)(const Backward<float>&);
  void (*backward64)(const Backward<double>&);
};

/// All kernels, in the order of their numbers: each takes one more step towards speed.
const std::vector<Kernel>& kernels();

/// The fastest kernel that fits.
const Kernel& fastest(const Sizes& sizes);

/// Instruction sets that kernel 4 has a version for. `generic` is what every processor of this architecture
/// has (SSE2 on x86-64).
enum class Isa { generic, avx2, avx512 };

std::string_view name_of(Isa isa);

/// The sets that this processor has, from the slowest on.
const std::vector<Isa>& available_isas();

/// The set in use: the best available one unless `use` was called.
Isa isa_in_use();

/// For tests and benchmarks; not while a kernel runs. Throws Error for a set that this processor does not
/// have.
void use(Isa isa);

}  // namespace attn::exact

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn::simd {

/// Instruction sets that SIMD kernels have versions for. `generic` is what every processor of this
/// architecture has (SSE2 on x86-64).
enum class Isa { generic, avx2, avx512 };

std::string_view name_of(Isa isa);

/// The sets that this processor has, from the slowest on.
const std::vector<Isa>& available_isas();

/// The set in use: the best available one unless `use` was called.
Isa isa_in_use();

/// For tests and benchmarks; not while a kernel runs. Throws Error for a set that this processor does not
/// have.
void use(Isa isa);

/// Calls `choose` with the instruction set in use, as a constant, and returns its result: the version of a
/// kernel that was compiled for this set.
template <class Choose>
auto for_isa_in_use(const Choose& choose) {
  switch (isa_in_use()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return choose(std::integral_constant<Isa, Isa::avx512>());
    case Isa::avx2:
      return choose(std::integral_constant<Isa, Isa::avx2>());
#endif
    default:
      return choose(std::integral_constant<Isa, Isa::generic>());
  }
}

/// Uninitialised memory for numbers, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t numbers)
      : lines_(new Line[(numbers * sizeof(T) + sizeof(Line) - 1) / sizeof(Line)]) {}

  T* data() { return reinterpret_cast<T*>(lines_.get()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::unique_ptr<Line[]> lines_;
};

}  // namespace attn::simd

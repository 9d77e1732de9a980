#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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

/// While an object of this class exists, denormal numbers count as 0 on this thread, as operands and as
/// results. Weights far below the largest become denormal, and each operation on one can cost a hundred
/// cycles.
class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) { set_control(before_ | flush); }
  ~FlushDenormals() { set_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Control = unsigned int;
  static constexpr Control flush = 0x8040;  // results and operands, in MXCSR
  static Control control() {
    return _mm_getcsr();
  }
  static void set_control(Control control) {
    _mm_setcsr(control);
  }
#elif defined(__aarch64__)
  using Control = std::uint64_t;
  static constexpr Control flush = Control{1} << 24;  // both, in FPCR
  static Control control() {
    Control control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void set_control(Control control) {
    asm volatile("msr fpcr, %0" : : "r"(control));
  }
#else
  using Control = int;
  static constexpr Control flush = 0;
  static Control control() {
    return 0;
  }
  static void set_control(Control) {}
#endif

  Control before_;
};

}  // namespace attn::simd

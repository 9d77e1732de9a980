#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace attn::simd {

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

#pragma once

#include "fast/linear/sums.hpp"
#include "fast/simd/accumulate.hpp"

namespace attn::linear_time {

/// Two runs of numbers that will be wanted soon. They are fetched while something else is computed, a few
/// lines at a time: only about a dozen can be on their way to a core, and who asks for another has to wait.
/// To ask beyond a run's end is useless, but harmless and cheaper than to look where it is.
template <class T>
struct Ahead {
  const T* one;
  const T* other;

  /// Has the next `count` numbers of both brought into the second cache.
  template <std::size_t count>
  ATTN_INLINE void fetch() {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) {
      __builtin_prefetch(one + i, 0, 2);
      __builtin_prefetch(other + i, 0, 2);
    }
    one += count;
    other += count;
  }
};

/// As simd::accumulate, fetching as many numbers of either run ahead as it takes scalars.
template <class Alignment = xsimd::aligned_mode, std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void accumulate(Sums<Rows, Vectors, T, Arch>& sums, const T* panel, std::size_t width,
                            simd::Scalars<T> scalars, std::size_t count, Ahead<T>& ahead) {
  constexpr std::size_t steps = 8;
  for (; count >= steps; count -= steps, panel += steps * width, scalars.data += steps * scalars.step) {
    ahead.template fetch<Rows * steps>();
    simd::accumulate<Alignment>(sums.registers, panel, width, scalars, steps);
  }
  simd::accumulate<Alignment>(sums.registers, panel, width, scalars, count);
}

}  // namespace attn::linear_time

#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include "fast/simd/vector.hpp"

namespace attn::simd {

/// Calls `work` with a number from 1 to `most`, as a constant.
template <std::size_t most, class Work>
ATTN_INLINE void with_constant(std::size_t number, const Work& work) {
  if (number == most)
    work(std::integral_constant<std::size_t, most>());
  else if constexpr (most > 1)
    with_constant<most - 1>(number, work);
}

/// Calls `work` with the first of `size` numbers from `begin` on, and `size` as a constant: `most` as long as
/// so many are left, then smaller powers of two.
template <std::size_t most, class Work>
ATTN_INLINE void in_blocks(std::size_t begin, std::size_t end, const Work& work) {
  for (; begin + most <= end; begin += most) work(begin, std::integral_constant<std::size_t, most>());
  if constexpr (most > 1) in_blocks<std::bit_floor(most - 1)>(begin, end, work);
}

}  // namespace attn::simd

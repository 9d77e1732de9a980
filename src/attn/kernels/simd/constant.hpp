#pragma once

#include <cstddef>
#include <type_traits>

#include "attn/kernels/simd/vector.hpp"

namespace attn::simd {

/// Calls `work` with a number from 1 to `most`, as a constant.
template <std::size_t most, class Work>
ATTN_INLINE void with_constant(std::size_t number, const Work& work) {
  if (number == most)
    work(std::integral_constant<std::size_t, most>());
  else if constexpr (most > 1)
    with_constant<most - 1>(number, work);
}

}  // namespace attn::simd

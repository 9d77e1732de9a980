#pragma once

#include <type_traits>

#include "fast/simd/isa.hpp"

namespace attn::simd {

/// Calls `choose` with the instruction set in use, as a constant, and returns what it returns: the version of
/// a kernel that a file of its own was compiled for.
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

}  // namespace attn::simd

#pragma once

#include <algorithm>

#include "fast/simd/isa.hpp"
#include "fast/simd/vector.hpp"

namespace attn::simd {

template <Isa>
struct ArchitectureOf;

#if defined(__x86_64__)
template <>
struct ArchitectureOf<Isa::generic> {
  using type = xsimd::sse2;
};
template <>
struct ArchitectureOf<Isa::avx2> {
  using type = xsimd::fma3<xsimd::avx2>;
};
template <>
struct ArchitectureOf<Isa::avx512> {
  using type = xsimd::avx512bw;
};
#else
template <>
struct ArchitectureOf<Isa::generic> {
  using type = xsimd::default_arch;
};
#endif

/// xsimd's name for an instruction set.
template <Isa isa>
using Architecture = typename ArchitectureOf<isa>::type;

/// How many rows of how many registers of sums `accumulate` keeps: as many as leave room for a row of the
/// panel and a scalar, and for the addresses of the scalars.
template <class Arch>
struct Block {
  static constexpr std::size_t vectors = 4;
  static constexpr std::size_t sums = registers<Arch> == 32 ? 24 : 12;
  static constexpr std::size_t most_rows = 8;

  static constexpr std::size_t rows_of(std::size_t width) { return std::min(sums / width, most_rows); }
  static constexpr std::size_t rows = rows_of(vectors);
  static constexpr std::size_t tile = 48;  ///< rows in a tile: whole blocks, whatever their shape
};

}  // namespace attn::simd

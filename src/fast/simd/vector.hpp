#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "fast/simd/isa.hpp"

/// What the SIMD kernels need of vector registers beyond xsimd's arithmetic. Everything is a template on the
/// architecture or inlined: each file that includes this is compiled for other instructions, and a function
/// that two of them shared could run on a processor that lacks them. Functions of the standard library are
/// inlined by optimisation only: a build without optimisation runs only on the machine that it was made on.
namespace attn::simd {

#define ATTN_INLINE [[gnu::always_inline]] inline

/// The same for a lambda, after its parameters: a standard attribute there would apply to its type.
#define ATTN_INLINE_LAMBDA __attribute__((always_inline))

template <class T, class Arch>
using Vector = xsimd::batch<T, Arch>;

/// Numbers in a register.
template <class T, class Arch>
inline constexpr std::size_t lanes = Vector<T, Arch>::size;

template <class Arch>
concept Avx512 = std::derived_from<Arch, xsimd::avx512f>;

/// Registers that the architecture has.
template <class Arch>
inline constexpr std::size_t registers = Avx512<Arch> || std::derived_from<Arch, xsimd::neon64> ? 32 : 16;

/// x y + z, rounded once where the processor can.
template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> multiply_add(Vector<T, Arch> x, Vector<T, Arch> y, Vector<T, Arch> z) {
  return xsimd::fma(x, y, z);
}

#if XSIMD_WITH_AVX512F
// xsimd 8 multiplies and adds here.
template <Avx512 Arch>
ATTN_INLINE Vector<float, Arch> multiply_add(Vector<float, Arch> x, Vector<float, Arch> y,
                                             Vector<float, Arch> z) {
  return _mm512_fmadd_ps(x, y, z);
}

template <Avx512 Arch>
ATTN_INLINE Vector<double, Arch> multiply_add(Vector<double, Arch> x, Vector<double, Arch> y,
                                              Vector<double, Arch> z) {
  return _mm512_fmadd_pd(x, y, z);
}
#endif

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

/// Calls `work` with the first of `size` numbers from `begin` on, and `size` as a constant: `most` as long as
/// that many are left, then smaller powers of two.
template <std::size_t most, class Work>
ATTN_INLINE void in_blocks(std::size_t begin, std::size_t end, const Work& work) {
  for (; begin + most <= end; begin += most) work(begin, std::integral_constant<std::size_t, most>());
  if constexpr (most > 1) in_blocks<std::bit_floor(most - 1)>(begin, end, work);
}

}  // namespace attn::simd

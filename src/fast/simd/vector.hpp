#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <xsimd/xsimd.hpp>

/// What the SIMD kernels need of vector registers beyond xsimd's arithmetic. Everything is a template on the
/// architecture or inlined: each file that includes this is compiled for other instructions, and a function
/// that two of them shared would run on processors that lack them. What the standard library has of such
/// functions is inlined by optimisation only: a build without any is for the machine that it was made on.
namespace attn::simd {

#define ATTN_INLINE [[gnu::always_inline]] inline

/// The same after a lambda's parameters, where a standard attribute would belong to its type.
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

}  // namespace attn::simd

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
template <class T, Avx512 Arch>
ATTN_INLINE Vector<T, Arch> multiply_add(Vector<T, Arch> x, Vector<T, Arch> y, Vector<T, Arch> z) {
  if constexpr (sizeof(T) == sizeof(float))
    return _mm512_fmadd_ps(x, y, z);
  else
    return _mm512_fmadd_pd(x, y, z);
}
#endif

/// xsimd's name for an instruction set.
#if defined(__x86_64__)
template <Isa isa>
using Architecture =
    std::conditional_t<isa == Isa::avx512, xsimd::avx512bw,
                       std::conditional_t<isa == Isa::avx2, xsimd::fma3<xsimd::avx2>, xsimd::sse2>>;
#else
template <Isa>
using Architecture = xsimd::default_arch;
#endif

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

/// 2^x = 2^n · 2^f, where n is the integer next to x and −½ ≤ f ≤ ½. The coefficients are those of the
/// polynomial in f of least greatest relative error that is exactly 1 at 0; Remez's algorithm found them.
template <class T>
struct Exp2;

template <>
struct Exp2<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr float lowest = -127;
  static constexpr std::array coefficients = {// relative error 9.1e-8
                                              1.0F,
                                              0x1.62e429203f863p-1F,
                                              0x1.ebf9bb8ab42cep-3F,
                                              0x1.c6b752d67d150p-5F,
                                              0x1.3cea873ed79c6p-7F,
                                              0x1.5bba17101448fp-10F};
};

template <>
struct Exp2<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double lowest = -1023;
  static constexpr std::array coefficients = {// relative error 3.4e-18
                                              1.0,
                                              0x1.62e42fefa39efp-1,
                                              0x1.ebfbdff82c5a4p-3,
                                              0x1.c6b08d7049fe8p-5,
                                              0x1.3b2ab6fba011ap-7,
                                              0x1.5d87fe78cd6dcp-10,
                                              0x1.4309130ed8bc8p-13,
                                              0x1.ffcbfba97c6d7p-17,
                                              0x1.62bfc79d7642ap-20,
                                              0x1.b5267cea5f68ep-24,
                                              0x1.e61b4f5049cdcp-28,
                                              0x1.e79ba5e93da52p-32};
};

/// Σ coefficients[k + i] f^i by Horner's rule.
template <std::size_t k = 0, class T, class Arch>
ATTN_INLINE Vector<T, Arch> exp2_polynomial(Vector<T, Arch> f) {
  const Vector<T, Arch> coefficient(Exp2<T>::coefficients[k]);
  if constexpr (k + 1 == Exp2<T>::coefficients.size())
    return coefficient;
  else
    return multiply_add(exp2_polynomial<k + 1>(f), f, coefficient);
}

/// 2^x to 2.5 units in the last place in float32 and 1.5 in float64, for x ≤ 127 and 1023. Exactly 1 at 0 and
/// exactly 0 at −∞. What would be denormal is 0 once denormals are flushed (see FlushDenormals), and a
/// denormal of some value if not.
template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> power_of_2(Vector<T, Arch> x) {
  using Integers = Vector<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>, Arch>;
  constexpr int bits = Exp2<T>::mantissa_bits;
  // Numbers of this size have no room for a fraction: adding it rounds, and leaves n in the lowest bits.
  const Vector<T, Arch> rounder(T{3} * static_cast<T>(std::int64_t{1} << (bits - 1)));
  const auto clamped = xsimd::max(Vector<T, Arch>(Exp2<T>::lowest), x);  // a NaN stays one
  const auto shifted = clamped + rounder;
  const auto mantissa = exp2_polynomial(clamped - (shifted - rounder));
  const auto exponent = xsimd::bitwise_cast<Integers>(shifted) << bits;
  return xsimd::bitwise_cast<Vector<T, Arch>>(xsimd::bitwise_cast<Integers>(mantissa) + exponent);
}

#if XSIMD_WITH_AVX512DQ
// AVX-512 has instructions for x − n, which is 0 at −∞, and for the multiplication by 2^n.
template <Avx512 Arch>
ATTN_INLINE Vector<float, Arch> power_of_2(Vector<float, Arch> x) {
  const Vector<float, Arch> f(_mm512_reduce_ps(x, 0));
  return _mm512_scalef_ps(exp2_polynomial(f), x - f);
}

template <Avx512 Arch>
ATTN_INLINE Vector<double, Arch> power_of_2(Vector<double, Arch> x) {
  const Vector<double, Arch> f(_mm512_reduce_pd(x, 0));
  return _mm512_scalef_pd(exp2_polynomial(f), x - f);
}
#endif

}  // namespace attn::simd

#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "fast/simd/vector.hpp"

namespace attn::simd {

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

#pragma once

#include "fast/simd/isa.hpp"
#include "fast/simd/product.hpp"
#include "fast/simd/vector.hpp"
#include "tests/unit/fast/simd_functions.hpp"

namespace on_arrays {

template <class T, class Arch>
void power_of_2(const T* x, T* powers) {
  const attn::simd::FlushDenormals flush;
  using Vector = attn::simd::Vector<T, Arch>;
  attn::simd::power_of_2(Vector::load_unaligned(x)).store_unaligned(powers);
}

template <class T, class Arch>
void multiply_add(const T* x, const T* y, const T* z, T* sums) {
  using Vector = attn::simd::Vector<T, Arch>;
  attn::simd::multiply_add(Vector::load_unaligned(x), Vector::load_unaligned(y), Vector::load_unaligned(z))
      .store_unaligned(sums);
}

template <class T, class Arch>
void transpose(const T* matrix, std::size_t stride, std::size_t rows, std::size_t columns, T* transposed) {
  attn::simd::Square<T, Arch> square;
  square.load({matrix, stride, rows, columns});
  square.transpose();
  square.store({transposed, rows, columns, rows});
}

}  // namespace on_arrays

template <attn::simd::Isa isa, class T>
SimdFunctions<T> simd_functions() {
  using Arch = attn::simd::Architecture<isa>;
  return {attn::simd::lanes<T, Arch>, &on_arrays::power_of_2<T, Arch>, &on_arrays::multiply_add<T, Arch>,
          &on_arrays::transpose<T, Arch>};
}

template SimdFunctions<float> simd_functions<attn::simd::Isa::ATTN_ISA>();
template SimdFunctions<double> simd_functions<attn::simd::Isa::ATTN_ISA>();

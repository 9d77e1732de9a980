#pragma once

#include <algorithm>

#include "fast/matrix.hpp"
#include "fast/simd/product.hpp"

namespace attn::simd {

/// c += a b on the caller's thread, for the products of training: a few million multiplications each. Only
/// the parts of b that registers cannot read where they lie are copied: transposed ones, and the last
/// columns. OpenBLAS copies both matrices, and on a processor whose model it does not know it leaves AVX-512
/// unused.
template <class T, class Arch>
class MatrixProduct {
 public:
  MatrixProduct(const fast::Matrix<T>& a, const fast::Matrix<T>& b, T* c) : a_(a), b_(b), c_(c) {}

  void add() {
    for (std::size_t first = 0; first < a_.columns; first += depth) {
      const std::size_t count = std::min(depth, a_.columns - first);
      in_blocks<Block<Arch>::vectors>(
          0, padded<T, Arch>(b_.columns) / size,
          [&](std::size_t vector, auto vectors) { add_columns<vectors()>(vector * size, first, count); });
    }
  }

 private:
  static constexpr std::size_t size = lanes<T, Arch>;
  static constexpr std::size_t depth = 128;  ///< rows of b at once: a panel of them fits the first cache

  /// Rows of b, as far as a block of columns reaches.
  struct Panel {
    const T* data;
    std::size_t stride;
  };

  template <std::size_t Vectors>
  void add_columns(std::size_t column, std::size_t first, std::size_t count) {
    const Panel panel = panel_of<Vectors * size>(column, first, count);
    const std::size_t row_step = a_.is_transposed ? 1 : a_.row_length();
    const std::size_t column_step = a_.is_transposed ? a_.row_length() : 1;
    in_blocks<Block<Arch>::rows>(0, a_.rows, [&](std::size_t row, auto rows) {
      add_product_columns<rows(), Vectors, T, Arch, xsimd::unaligned_mode>(
          {c_ + row * b_.columns + column, b_.columns, rows(), b_.columns - column},
          {a_.data + row * row_step + first * column_step, row_step, column_step}, panel.data, panel.stride,
          count);
    });
  }

  template <std::size_t Width>
  Panel panel_of(std::size_t column, std::size_t first, std::size_t count) {
    const std::size_t columns = std::min(Width, b_.columns - column), stride = b_.row_length();
    if (b_.is_transposed)
      copy_transposed<T, Arch>({b_.data + column * stride + first, stride, columns, count}, T{1}, copy_,
                               Width);
    else if (columns < Width)
      copy_padded<T, Arch>({b_.data + first * stride + column, stride, count, columns}, T{1}, copy_);
    else
      return {b_.data + first * stride + column, stride};
    return {copy_, Width};
  }

  const fast::Matrix<T>& a_;
  const fast::Matrix<T>& b_;
  T* c_;
  alignas(64) T copy_[depth * Block<Arch>::vectors * size];
};

}  // namespace attn::simd

#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fast/gemm.hpp"
#include "fast/simd/exp2.hpp"
#include "fast/simd/product.hpp"
#include "fast/train/loops.hpp"

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

/// The loops for one instruction set: each works on registers full of numbers, and on what is left over by
/// way of a register's worth of memory.
namespace attn::train {

using simd::Vector;

template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> load(const T* from, std::size_t count) {
  constexpr std::size_t size = simd::lanes<T, Arch>;
  if (count >= size) return Vector<T, Arch>::load_unaligned(from);
  alignas(64) T numbers[size] = {};
  for (std::size_t i = 0; i < count; ++i) numbers[i] = from[i];
  return Vector<T, Arch>::load_aligned(numbers);
}

template <class T, class Arch>
ATTN_INLINE void store(Vector<T, Arch> vector, T* to, std::size_t count) {
  constexpr std::size_t size = simd::lanes<T, Arch>;
  if (count >= size) return vector.store_unaligned(to);
  alignas(64) T numbers[size];
  vector.store_aligned(numbers);
  for (std::size_t i = 0; i < count; ++i) to[i] = numbers[i];
}

/// Calls work(first, left) for each register's worth of `count` numbers.
template <class T, class Arch, class Work>
ATTN_INLINE void for_each_register(std::size_t count, const Work& work) {
  constexpr std::size_t size = simd::lanes<T, Arch>;
  for (std::size_t i = 0; i < count; i += size) work(i, count - i);
}

template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> exponential(Vector<T, Arch> x) {
  return simd::power_of_2(x * Vector<T, Arch>(std::numbers::log2e_v<T>));
}

/// Beyond ± 40 nothing changes in float64 any more, and 2^x stays finite.
template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> sigmoid(Vector<T, Arch> x) {
  const Vector<T, Arch> one(T{1}), limit(T{40});
  return one / (one + exponential<T, Arch>(xsimd::min(limit, xsimd::max(-limit, -x))));
}

template <class T, class Arch>
ATTN_INLINE Vector<T, Arch> hyperbolic_tangent(Vector<T, Arch> x) {
  const Vector<T, Arch> one(T{1}), two(T{2});
  return two * sigmoid<T, Arch>(two * x) - one;
}

template <class T, class Arch>
struct SimdLoops {
  using V = Vector<T, Arch>;

  static void add_product(const fast::Matrix<T>& a, const fast::Matrix<T>& b, T* c) {
    simd::MatrixProduct<T, Arch>(a, b, c).add();
  }

  static void lstm_forward(std::size_t hidden, T* gates, const T* c_before, T* c, T* tanh_c, T* h) {
    T *i_gate = gates, *f_gate = gates + hidden, *g_gate = gates + 2 * hidden, *o_gate = gates + 3 * hidden;
    for_each_register<T, Arch>(hidden, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      const V i = sigmoid<T, Arch>(load<T, Arch>(i_gate + at, left));
      const V f = sigmoid<T, Arch>(load<T, Arch>(f_gate + at, left));
      const V g = hyperbolic_tangent<T, Arch>(load<T, Arch>(g_gate + at, left));
      const V o = sigmoid<T, Arch>(load<T, Arch>(o_gate + at, left));
      const V cell = f * load<T, Arch>(c_before + at, left) + i * g;
      const V shown = hyperbolic_tangent<T, Arch>(cell);
      store<T, Arch>(i, i_gate + at, left);
      store<T, Arch>(f, f_gate + at, left);
      store<T, Arch>(g, g_gate + at, left);
      store<T, Arch>(o, o_gate + at, left);
      store<T, Arch>(cell, c + at, left);
      store<T, Arch>(shown, tanh_c + at, left);
      store<T, Arch>(o * shown, h + at, left);
    });
  }

  static void lstm_backward(std::size_t hidden, const T* gates, const T* c_before, const T* tanh_c,
                            const T* d_h, const T* d_c, T* d_c_before, T* d_sums) {
    const V one(T{1});
    for_each_register<T, Arch>(hidden, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      const V i = load<T, Arch>(gates + at, left), f = load<T, Arch>(gates + hidden + at, left);
      const V g = load<T, Arch>(gates + 2 * hidden + at, left),
              o = load<T, Arch>(gates + 3 * hidden + at, left);
      const V shown = load<T, Arch>(tanh_c + at, left), d_state = load<T, Arch>(d_h + at, left);
      const V d_cell = load<T, Arch>(d_c + at, left) + d_state * o * (one - shown * shown);
      store<T, Arch>(d_cell * g * i * (one - i), d_sums + at, left);
      store<T, Arch>(d_cell * load<T, Arch>(c_before + at, left) * f * (one - f), d_sums + hidden + at, left);
      store<T, Arch>(d_cell * i * (one - g * g), d_sums + 2 * hidden + at, left);
      store<T, Arch>(d_state * shown * o * (one - o), d_sums + 3 * hidden + at, left);
      if (d_c_before)
        store<T, Arch>(load<T, Arch>(d_c_before + at, left) + d_cell * f, d_c_before + at, left);
    });
  }

  static void tanh(std::size_t count, const T* from, T* to) {
    for_each_register<T, Arch>(count, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      store<T, Arch>(hyperbolic_tangent<T, Arch>(load<T, Arch>(from + at, left)), to + at, left);
    });
  }

  static void additive_scores(std::size_t width, std::size_t keys, const T* query, StridedRows<const T> key,
                              const T* v, T* hidden, T* score) {
    for (std::size_t i = 0; i < keys; ++i) {
      V sum(T{0});
      for_each_register<T, Arch>(width, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
        const V h = hyperbolic_tangent<T, Arch>(load<T, Arch>(query + at, left) +
                                                load<T, Arch>(key.data + i * key.stride + at, left));
        store<T, Arch>(h, hidden + i * width + at, left);
        sum += h * load<T, Arch>(v + at, left);
      });
      score[i] = xsimd::hadd(sum);
    }
  }

  static void additive_scores_backward(std::size_t width, std::size_t keys, const T* d_score, const T* hidden,
                                       const T* v, T* d_query, StridedRows<T> d_key, T* d_v) {
    constexpr std::size_t size = simd::lanes<T, Arch>;
    const V one(T{1});
    simd::in_blocks<4>(0, (width + size - 1) / size, [&](std::size_t first, auto count) ATTN_INLINE_LAMBDA {
      V v_here[count], query_sum[count], v_sum[count];
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t at = (first + r) * size;
        v_here[r] = load<T, Arch>(v + at, width - at);
        query_sum[r] = load<T, Arch>(d_query + at, width - at);
        v_sum[r] = load<T, Arch>(d_v + at, width - at);
      }
      for (std::size_t i = 0; i < keys; ++i)
        for (std::size_t r = 0; r < count; ++r) {
          const std::size_t at = (first + r) * size;
          const V h = load<T, Arch>(hidden + i * width + at, width - at), d(d_score[i]);
          const V d_sum = d * v_here[r] * (one - h * h);
          T* d_key_here = d_key.data + i * d_key.stride + at;
          store<T, Arch>(load<T, Arch>(d_key_here, width - at) + d_sum, d_key_here, width - at);
          query_sum[r] += d_sum;
          v_sum[r] += d * h;
        }
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t at = (first + r) * size;
        store<T, Arch>(query_sum[r], d_query + at, width - at);
        store<T, Arch>(v_sum[r], d_v + at, width - at);
      }
    });
  }

  static void weighted_sum(std::size_t width, std::size_t rows, const T* weight, StridedRows<const T> row,
                           T* sum) {
    for_each_register<T, Arch>(width, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      V total(T{0});
      for (std::size_t i = 0; i < rows; ++i)
        total += V(weight[i]) * load<T, Arch>(row.data + i * row.stride + at, left);
      store<T, Arch>(total, sum + at, left);
    });
  }

  static void weighted_sum_backward(std::size_t width, std::size_t rows, const T* weight,
                                    StridedRows<const T> row, const T* d_sum, T* d_weight,
                                    StridedRows<T> d_row) {
    for (std::size_t i = 0; i < rows; ++i) {
      d_weight[i] += dot(width, d_sum, row.data + i * row.stride);
      add_scaled(width, weight[i], d_sum, d_row.data + i * d_row.stride);
    }
  }

  static SoftmaxTerms<T> softmax(std::size_t count, const T* from, T* to) {
    const T largest = largest_of(count, from), total = exp_shifted(count, from, largest, to);
    const V divisor(total);
    for_each_register<T, Arch>(count, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      store<T, Arch>(load<T, Arch>(to + at, left) / divisor, to + at, left);
    });
    return {largest, total};
  }

  static T largest_of(std::size_t count, const T* numbers) {
    constexpr std::size_t size = simd::lanes<T, Arch>;
    V most(numbers[0]);
    std::size_t at = 0;
    for (; at + size <= count; at += size) most = xsimd::max(most, V::load_unaligned(numbers + at));
    alignas(64) T lanes[size];
    most.store_aligned(lanes);
    T largest = lanes[0];
    for (const T lane : lanes) largest = lane > largest ? lane : largest;
    for (; at < count; ++at) largest = numbers[at] > largest ? numbers[at] : largest;
    return largest;
  }

  /// to = exp(from − shift), for from ≤ shift; returns the sum.
  static T exp_shifted(std::size_t count, const T* from, T shift, T* to) {
    constexpr std::size_t size = simd::lanes<T, Arch>;
    const V largest(shift);
    V sum(T{0});
    std::size_t at = 0;
    for (; at + size <= count; at += size) {
      const V power = exponential<T, Arch>(V::load_unaligned(from + at) - largest);
      power.store_unaligned(to + at);
      sum += power;
    }
    T total = xsimd::hadd(sum);
    if (at < count) {
      store<T, Arch>(exponential<T, Arch>(load<T, Arch>(from + at, count - at) - largest), to + at,
                     count - at);
      for (; at < count; ++at) total += to[at];
    }
    return total;
  }

  static void add_scaled(std::size_t count, T factor, const T* from, T* to) {
    const V scale(factor);
    for_each_register<T, Arch>(count, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      store<T, Arch>(load<T, Arch>(to + at, left) + scale * load<T, Arch>(from + at, left), to + at, left);
    });
  }

  static T dot(std::size_t count, const T* a, const T* b) {
    V sum(T{0});
    for_each_register<T, Arch>(count, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      sum += load<T, Arch>(a + at, left) * load<T, Arch>(b + at, left);
    });
    return xsimd::hadd(sum);
  }

  static void adam(std::size_t count, AdamStep<T> step, const T* gradient, T* first, T* second, T* weight) {
    const V scale(step.gradient_scale), keep_first(step.first_decay), keep_second(step.second_decay);
    const V new_first(1 - step.first_decay), new_second(1 - step.second_decay);
    const V rate(step.rate), epsilon(step.epsilon);
    for_each_register<T, Arch>(count, [&](std::size_t at, std::size_t left) ATTN_INLINE_LAMBDA {
      const V g = scale * load<T, Arch>(gradient + at, left);
      const V m = keep_first * load<T, Arch>(first + at, left) + new_first * g;
      const V v = keep_second * load<T, Arch>(second + at, left) + new_second * g * g;
      store<T, Arch>(m, first + at, left);
      store<T, Arch>(v, second + at, left);
      store<T, Arch>(load<T, Arch>(weight + at, left) - rate * m / (xsimd::sqrt(v) + epsilon), weight + at,
                     left);
    });
  }

  static constexpr Loops<T> table = {add_product,
                                     lstm_forward,
                                     lstm_backward,
                                     tanh,
                                     additive_scores,
                                     additive_scores_backward,
                                     weighted_sum,
                                     weighted_sum_backward,
                                     softmax,
                                     add_scaled,
                                     dot,
                                     adam};
};

template <simd::Isa isa, class T>
const Loops<T>* loops_for() {
  return &SimdLoops<T, simd::Architecture<isa>>::table;
}

}  // namespace attn::train

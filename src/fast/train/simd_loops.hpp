// Compiled once for each instruction set, which ATTN_ISA names: see add_simd_sources.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fast/gemm.hpp"
#include "fast/simd/product.hpp"
#include "fast/simd/vector.hpp"
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
      for_each_panel<T, Arch>(b_.columns, [&](std::size_t column, auto vectors) ATTN_INLINE_LAMBDA {
        add_columns<vectors()>(column, first, count);
      });
    }
  }

 private:
  static constexpr std::size_t size = lanes<T, Arch>;
  static constexpr std::size_t depth = 128;  ///< rows of b at once: a panel of them fits the first cache

  template <std::size_t Vectors>
  void add_columns(std::size_t column, std::size_t first, std::size_t count) {
    const auto panel = panel_of<Vectors * size>(column, first, count);
    const std::size_t row_step = a_.is_transposed ? 1 : a_.row_length();
    const std::size_t column_step = a_.is_transposed ? a_.row_length() : 1;
    in_blocks<Block<Arch>::rows>(0, a_.rows, [&](std::size_t row, auto rows) {
      add_product_columns<rows(), Vectors, T, Arch, xsimd::unaligned_mode>(
          {c_ + row * b_.columns + column, b_.columns, rows(), b_.columns - column},
          {a_.data + row * row_step + first * column_step, row_step, column_step}, panel.data, panel.stride,
          count);
    });
  }

  /// Rows of b, as far as a block of columns reaches.
  template <std::size_t Width>
  train::StridedRows<const T> panel_of(std::size_t column, std::size_t first, std::size_t count) {
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

/// A register's worth of numbers of an array, from `at` on; as many as are left at its end.
template <class T, class Arch>
struct Place {
  using V = Vector<T, Arch>;
  static constexpr std::size_t size = simd::lanes<T, Arch>;

  std::size_t at, left;

  ATTN_INLINE V operator()(const T* from) const {
    if (left >= size) return V::load_unaligned(from + at);
    alignas(64) T numbers[size] = {};
    for (std::size_t i = 0; i < left; ++i) numbers[i] = from[at + i];
    return V::load_aligned(numbers);
  }

  ATTN_INLINE void put(V vector, T* to) const {
    if (left >= size) return vector.store_unaligned(to + at);
    alignas(64) T numbers[size];
    vector.store_aligned(numbers);
    for (std::size_t i = 0; i < left; ++i) to[at + i] = numbers[i];
  }
};

template <class T, class Arch>
struct SimdLoops {
  using V = Vector<T, Arch>;
  using On = Place<T, Arch>;
  static constexpr std::size_t size = simd::lanes<T, Arch>;

  /// Calls work(place) for each register's worth of `count` numbers.
  template <class Work>
  ATTN_INLINE static void each(std::size_t count, const Work& work) {
    for (std::size_t i = 0; i < count; i += size) work(On{i, count - i});
  }

  ATTN_INLINE static V exponential(V x) { return simd::power_of_2(x * V(std::numbers::log2e_v<T>)); }

  /// Beyond ± 40 nothing changes in float64 any more, and 2^x stays finite.
  ATTN_INLINE static V sigmoid(V x) {
    const V one(T{1}), limit(T{40});
    return one / (one + exponential(xsimd::min(limit, xsimd::max(-limit, -x))));
  }

  ATTN_INLINE static V hyperbolic_tangent(V x) {
    const V one(T{1}), two(T{2});
    return two * sigmoid(two * x) - one;
  }

  static void add_product(const fast::Matrix<T>& a, const fast::Matrix<T>& b, T* c) {
    simd::MatrixProduct<T, Arch>(a, b, c).add();
  }

  static void lstm_forward(std::size_t hidden, T* gates, const T* c_before, T* c, T* tanh_c, T* h) {
    T *i_gate = gates, *f_gate = gates + hidden, *g_gate = gates + 2 * hidden, *o_gate = gates + 3 * hidden;
    each(hidden, [&](On on) ATTN_INLINE_LAMBDA {
      const V i = sigmoid(on(i_gate));
      const V f = sigmoid(on(f_gate));
      const V g = hyperbolic_tangent(on(g_gate));
      const V o = sigmoid(on(o_gate));
      const V cell = f * on(c_before) + i * g;
      const V shown = hyperbolic_tangent(cell);
      on.put(i, i_gate);
      on.put(f, f_gate);
      on.put(g, g_gate);
      on.put(o, o_gate);
      on.put(cell, c);
      on.put(shown, tanh_c);
      on.put(o * shown, h);
    });
  }

  static void lstm_backward(std::size_t hidden, const T* gates, const T* c_before, const T* tanh_c,
                            const T* d_h, const T* d_c, T* d_c_before, T* d_sums) {
    const V one(T{1});
    each(hidden, [&](On on) ATTN_INLINE_LAMBDA {
      const V i = on(gates), f = on(gates + hidden);
      const V g = on(gates + 2 * hidden), o = on(gates + 3 * hidden);
      const V shown = on(tanh_c), d_state = on(d_h);
      const V d_cell = on(d_c) + d_state * o * (one - shown * shown);
      on.put(d_cell * g * i * (one - i), d_sums);
      on.put(d_cell * on(c_before) * f * (one - f), d_sums + hidden);
      on.put(d_cell * i * (one - g * g), d_sums + 2 * hidden);
      on.put(d_state * shown * o * (one - o), d_sums + 3 * hidden);
      if (d_c_before) on.put(on(d_c_before) + d_cell * f, d_c_before);
    });
  }

  static void tanh(std::size_t count, const T* from, T* to) {
    each(count, [&](On on) ATTN_INLINE_LAMBDA { on.put(hyperbolic_tangent(on(from)), to); });
  }

  static void additive_scores(std::size_t width, std::size_t keys, const T* query, StridedRows<const T> key,
                              const T* v, T* hidden, T* score) {
    for (std::size_t i = 0; i < keys; ++i) {
      V sum(T{0});
      each(width, [&](On on) ATTN_INLINE_LAMBDA {
        const V h = hyperbolic_tangent(on(query) + on(key.data + i * key.stride));
        on.put(h, hidden + i * width);
        sum += h * on(v);
      });
      score[i] = xsimd::hadd(sum);
    }
  }

  static void additive_scores_backward(std::size_t width, std::size_t keys, const T* d_score, const T* hidden,
                                       const T* v, T* d_query, StridedRows<T> d_key, T* d_v) {
    const V one(T{1});
    simd::in_blocks<4>(0, (width + size - 1) / size, [&](std::size_t first, auto count) ATTN_INLINE_LAMBDA {
      const auto on = [&](std::size_t r) ATTN_INLINE_LAMBDA {
        return On{(first + r) * size, width - (first + r) * size};
      };
      V v_here[count], query_sum[count], v_sum[count];
      for (std::size_t r = 0; r < count; ++r) {
        v_here[r] = on(r)(v);
        query_sum[r] = on(r)(d_query);
        v_sum[r] = on(r)(d_v);
      }
      for (std::size_t i = 0; i < keys; ++i)
        for (std::size_t r = 0; r < count; ++r) {
          const V h = on(r)(hidden + i * width), d(d_score[i]);
          const V d_sum = d * v_here[r] * (one - h * h);
          T* d_key_here = d_key.data + i * d_key.stride;
          on(r).put(on(r)(d_key_here) + d_sum, d_key_here);
          query_sum[r] += d_sum;
          v_sum[r] += d * h;
        }
      for (std::size_t r = 0; r < count; ++r) {
        on(r).put(query_sum[r], d_query);
        on(r).put(v_sum[r], d_v);
      }
    });
  }

  static void weighted_sum(std::size_t width, std::size_t rows, const T* weight, StridedRows<const T> row,
                           T* sum) {
    each(width, [&](On on) ATTN_INLINE_LAMBDA {
      V total(T{0});
      for (std::size_t i = 0; i < rows; ++i) total += V(weight[i]) * on(row.data + i * row.stride);
      on.put(total, sum);
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
    each(count, [&](On on) ATTN_INLINE_LAMBDA { on.put(on(to) / divisor, to); });
    return {largest, total};
  }

  static T largest_of(std::size_t count, const T* numbers) {
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
    const V largest(shift);
    V sum(T{0});
    std::size_t at = 0;
    for (; at + size <= count; at += size) {
      const V power = exponential(V::load_unaligned(from + at) - largest);
      power.store_unaligned(to + at);
      sum += power;
    }
    T total = xsimd::hadd(sum);
    if (at < count) {
      const On on = {at, count - at};
      on.put(exponential(on(from) - largest), to);
      for (; at < count; ++at) total += to[at];
    }
    return total;
  }

  static void add_scaled(std::size_t count, T factor, const T* from, T* to) {
    const V scale(factor);
    each(count, [&](On on) ATTN_INLINE_LAMBDA { on.put(on(to) + scale * on(from), to); });
  }

  static T dot(std::size_t count, const T* a, const T* b) {
    V sum(T{0});
    each(count, [&](On on) ATTN_INLINE_LAMBDA { sum += on(a) * on(b); });
    return xsimd::hadd(sum);
  }

  static void adam(std::size_t count, AdamStep<T> step, const T* gradient, T* first, T* second, T* weight) {
    const V scale(step.gradient_scale), keep_first(step.first_decay), keep_second(step.second_decay);
    const V new_first(1 - step.first_decay), new_second(1 - step.second_decay);
    const V rate(step.rate), epsilon(step.epsilon);
    each(count, [&](On on) ATTN_INLINE_LAMBDA {
      const V g = scale * on(gradient);
      const V m = keep_first * on(first) + new_first * g;
      const V v = keep_second * on(second) + new_second * g * g;
      on.put(m, first);
      on.put(v, second);
      on.put(on(weight) - rate * m / (xsimd::sqrt(v) + epsilon), weight);
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

template const Loops<float>* loops_for<simd::Isa::ATTN_ISA>();
template const Loops<double>* loops_for<simd::Isa::ATTN_ISA>();

}  // namespace attn::train

#pragma once

#include <cstddef>

#include "fast/gemm.hpp"
#include "fast/simd/isa.hpp"

namespace attn::train {

/// What an Adam step does to one weight (Kingma & Ba 2015, algorithm 1, in the efficient form of section 2).
template <class T>
struct AdamStep {
  T rate;          ///< α √(1 − β₂ᵗ) / (1 − β₁ᵗ)
  T first_decay;   ///< β₁
  T second_decay;  ///< β₂
  T epsilon;
  T gradient_scale;  ///< of clipping
};

/// Rows of numbers, the first at `data` and each `stride` numbers behind the one before it.
template <class T>
struct StridedRows {
  T* data;
  std::size_t stride;
  T* operator[](std::size_t row) const { return data + row * stride; }
};

/// What softmax subtracts from each number before exp, and what it divides by.
template <class T>
struct SoftmaxTerms {
  T largest, total;
};

/// The loops in which training spends its time, compiled for each instruction set.
template <class T>
struct Loops {
  /// c += a b
  void (*add_product)(const fast::Matrix<T>& a, const fast::Matrix<T>& b, T* c);

  /// One step of one LSTM cell. `gates` [4·hidden] holds the sums of i, f, g, o and, after the call, the
  /// gates.
  void (*lstm_forward)(std::size_t hidden, T* gates, const T* c_before, T* c, T* tanh_c, T* h);

  /// Adds the gradient of c_before to `d_c_before`, where that is not null. `d_sums` [4·hidden] is
  /// written and may be the memory of `gates`.
  void (*lstm_backward)(std::size_t hidden, const T* gates, const T* c_before, const T* tanh_c, const T* d_h,
                        const T* d_c, T* d_c_before, T* d_sums);

  void (*tanh)(std::size_t count, const T* from, T* to);

  /// hidden[i] = tanh(query + key[i]) and score[i] = v · hidden[i] for each of the keys; `hidden` is
  /// [keys × width].
  void (*additive_scores)(std::size_t width, std::size_t keys, const T* query, StridedRows<const T> key,
                          const T* v, T* hidden, T* score);

  /// Adds the gradients of that: d_query and d_key[i] get d_score[i] · v (1 − hidden[i]²), d_v gets
  /// d_score[i] · hidden[i].
  void (*additive_scores_backward)(std::size_t width, std::size_t keys, const T* d_score, const T* hidden,
                                   const T* v, T* d_query, StridedRows<T> d_key, T* d_v);

  /// sum = Σ weight[i] · row[i]
  void (*weighted_sum)(std::size_t width, std::size_t rows, const T* weight, StridedRows<const T> row,
                       T* sum);

  /// Adds the gradients of that: d_weight[i] gets d_sum · row[i], d_row[i] gets weight[i] · d_sum.
  void (*weighted_sum_backward)(std::size_t width, std::size_t rows, const T* weight,
                                StridedRows<const T> row, const T* d_sum, T* d_weight, StridedRows<T> d_row);

  /// to = softmax(from), which may be the same memory; `count` is at least 1.
  SoftmaxTerms<T> (*softmax)(std::size_t count, const T* from, T* to);

  /// to += factor · from
  void (*add_scaled)(std::size_t count, T factor, const T* from, T* to);

  T (*dot)(std::size_t count, const T* a, const T* b);

  void (*adam)(std::size_t count, AdamStep<T> step, const T* gradient, T* first, T* second, T* weight);
};

/// The loops for one instruction set.
template <simd::Isa isa, class T>
const Loops<T>* loops_for();

/// The loops for the instruction set in use.
template <class T>
const Loops<T>& loops() {
  return *simd::for_isa_in_use([](auto isa) { return loops_for<isa(), T>(); });
}

}  // namespace attn::train

#pragma once

#include <cstddef>

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

/// The element-wise loops in which training spends its time outside BLAS, compiled for each instruction set.
template <class T>
struct Loops {
  /// One step of one LSTM cell. `gates` [4·hidden] holds the sums of i, f, g, o and, after the call, the
  /// gates.
  void (*lstm_forward)(std::size_t hidden, T* gates, const T* c_before, T* c, T* tanh_c, T* h);

  /// `d_c` holds the gradient of c and, after the call, that of c_before; `d_sums` [4·hidden] is written.
  void (*lstm_backward)(std::size_t hidden, const T* gates, const T* c_before, const T* tanh_c, const T* d_h,
                        T* d_c, T* d_sums);

  void (*tanh)(std::size_t count, const T* from, T* to);

  /// hidden = tanh(a + b); returns v · hidden.
  T (*tanh_dot)(std::size_t count, const T* a, const T* b, const T* v, T* hidden);

  /// Adds the gradients of that: d_a and d_b get d · v (1 − hidden²), d_v gets d · hidden.
  void (*tanh_dot_backward)(std::size_t count, T d, const T* hidden, const T* v, T* d_a, T* d_b, T* d_v);

  /// to = exp(from − shift), for from ≤ shift; returns the sum.
  T (*exp_shifted)(std::size_t count, const T* from, T shift, T* to);

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

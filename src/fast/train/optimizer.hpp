#pragma once

#include <cstddef>
#include <vector>

#include "fast/train/weights.hpp"

namespace attn::train {

/// The learning rate: a linear rise to the peak over the warm-up, then half a cosine down to 0 at the last
/// step (Loshchilov & Hutter 2017, without restarts).
struct Schedule {
  double peak = 8e-3;
  std::size_t warm_up = 100;
  std::size_t steps = 2000;

  /// Of step 1, 2, …, steps.
  double rate(std::size_t step) const;
};

/// Adam (Kingma & Ba 2015) with gradients clipped by their common norm (Pascanu et al. 2013), and
/// with weight decay apart from the gradients (Loshchilov & Hutter 2019).
template <class T>
class Adam {
 public:
  Adam(std::size_t numbers, Schedule schedule, double largest_norm = 1.0, double weight_decay = 0.0);

  /// One step of all weights; `gradients` are those of the loss. Returns their norm before clipping.
  double step(T* weights, const T* gradients);

  std::size_t steps_done() const { return step_; }

  /// The state, for a training that goes on later.
  struct State {
    std::size_t step;
    std::vector<T> first, second;
  };
  State state() const { return {step_, first_, second_}; }
  void restore(State state);

 private:
  Schedule schedule_;
  double largest_norm_;
  double weight_decay_;
  std::size_t step_ = 0;
  std::vector<T> first_, second_;  ///< running means of the gradient and of its square
};

extern template class Adam<float>;
extern template class Adam<double>;

}  // namespace attn::train

#include "fast/train/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "fast/train/loops.hpp"

namespace attn::train {

double Schedule::rate(std::size_t step) const {
  if (step <= warm_up) return peak * static_cast<double>(step) / static_cast<double>(warm_up);
  const double done =
      static_cast<double>(step - warm_up) / static_cast<double>(std::max<std::size_t>(steps - warm_up, 1));
  return peak * (1 + std::cos(std::numbers::pi * std::min(done, 1.0))) / 2;
}

template <class T>
Adam<T>::Adam(std::size_t numbers, Schedule schedule, double largest_norm, double weight_decay)
    : schedule_(schedule),
      largest_norm_(largest_norm),
      weight_decay_(weight_decay),
      first_(numbers),
      second_(numbers) {}

template <class T>
double Adam<T>::step(T* weights, const T* gradients) {
  constexpr double first_decay = 0.9, second_decay = 0.999;
  ++step_;
  const double norm = std::sqrt(static_cast<double>(loops<T>().dot(first_.size(), gradients, gradients)));
  const auto t = static_cast<double>(step_);
  const double correction = std::sqrt(1 - std::pow(second_decay, t)) / (1 - std::pow(first_decay, t));
  AdamStep<T> adam;
  adam.rate = static_cast<T>(schedule_.rate(step_) * correction);
  adam.first_decay = static_cast<T>(first_decay);
  adam.second_decay = static_cast<T>(second_decay);
  adam.epsilon = static_cast<T>(1e-8);
  adam.gradient_scale = static_cast<T>(norm > largest_norm_ ? largest_norm_ / norm : 1.0);
  if (weight_decay_ > 0) {
    const auto kept = static_cast<T>(1 - schedule_.rate(step_) * weight_decay_);
    for (std::size_t i = 0; i < first_.size(); ++i) weights[i] *= kept;
  }
  loops<T>().adam(first_.size(), adam, gradients, first_.data(), second_.data(), weights);
  return norm;
}

template <class T>
void Adam<T>::restore(State state) {
  step_ = state.step;
  first_ = std::move(state.first);
  second_ = std::move(state.second);
}

template class Adam<float>;
template class Adam<double>;

}  // namespace attn::train

#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "fast/simd/architecture.hpp"
#include "fast/simd/exp2.hpp"

namespace attn::exact {

/// The running maximum m and sum Σ 2^(score − m) of the query in each lane of a panel. Scores are in units of
/// log₂ e. The maximum may be stale: it is raised, and what was summed is rescaled, only when a score passes
/// it by `slack`. Until then weights are greater than 1, which changes no quotient.
template <class T, class Arch>
class RunningSoftmax {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t width = simd::Block<Arch>::vectors * lanes;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T slack = 16;

 public:
  void reset() {
    for (std::size_t lane = 0; lane < width; ++lane) {
      start_[lane] = 0;
      limit_[lane] = -infinity;
      sum_[lane] = 0;
    }
  }

  /// −m, at which the sum of products begins that is to be a score relative to m.
  ATTN_INLINE Vector start(std::size_t vector) const { return load(start_, vector); }

  /// A score, relative to m, that no rounding lifts above the limit: scores beyond 10⁸ have no digits left
  /// for that. A NaN stays one.
  ATTN_INLINE static Vector capped(Vector score) { return xsimd::min(Vector(slack), score); }

  /// Where a score, relative to m, passes the limit.
  ATTN_INLINE auto passes(Vector score, std::size_t vector) const { return score > load(limit_, vector); }

  ATTN_INLINE void add(Vector weights, std::size_t vector) {
    (load(sum_, vector) + weights).store_aligned(sum_ + vector * lanes);
  }

  /// Raises m, in all lanes at once, and returns the factor for all that was summed up relative to it. A
  /// query's first keys lower m, or raise it, from 0, when there is nothing to rescale.
  Vector raise(Vector greatest_score, std::size_t vector) {
    const Vector zero(T{0}), limit = load(limit_, vector), old_start = start(vector);
    const auto rises = greatest_score > xsimd::min(limit, zero);
    const Vector new_start = old_start - xsimd::select(rises, greatest_score, zero);
    const Vector rise = old_start - new_start;  // as it was rounded
    const Vector factor = simd::power_of_2(xsimd::min(-rise, zero));
    new_start.store_aligned(start_ + vector * lanes);
    xsimd::select(rises, Vector(slack), limit).store_aligned(limit_ + vector * lanes);
    (load(sum_, vector) * factor).store_aligned(sum_ + vector * lanes);
    return factor;
  }

  /// 1 / sum, and 0 where no key was seen.
  Vector reciprocal_sum(std::size_t vector) const {
    const Vector sum = load(sum_, vector), zero(T{0});
    return xsimd::select(sum > zero, Vector(T{1}) / sum, zero);
  }

  /// ln Σ e^score
  T log_sum_exp(std::size_t lane) const {
    return sum_[lane] > 0 ? std::log(sum_[lane]) - start_[lane] * std::numbers::ln2_v<T> : -infinity;
  }

 private:
  ATTN_INLINE static Vector load(const T* numbers, std::size_t vector) {
    return Vector::load_aligned(numbers + vector * lanes);
  }

  alignas(64) T start_[width];
  alignas(64) T limit_[width];  ///< −∞ before the first key, then slack
  alignas(64) T sum_[width];
};

}  // namespace attn::exact

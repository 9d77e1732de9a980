#include "attn/random/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

namespace attn {

namespace {

/// The smallest number of the form 2^k − 1 that is not below `largest`.
std::uint64_t bit_mask(std::uint64_t largest) {
  for (unsigned shift = 1; shift < 64; shift *= 2) largest |= largest >> shift;
  return largest;
}

}  // namespace

std::int64_t Random::binomial(std::int64_t trials, double probability) {
  constexpr auto largest = std::int64_t{1} << std::numeric_limits<double>::digits;
  if (!(probability >= 0.0 && probability <= 1.0))
    throw Error(fmt::format("binomial probability {} is out of range; valid: 0 to 1", probability));
  if (trials < 0 || trials > largest)
    throw Error(fmt::format("binomial trials {} are out of range; valid: 0 to {}", trials, largest));
  return draw_binomial(trials, probability);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  if (low >= high)
    throw Error(fmt::format("there is no integer from {} to below {}; valid: low less than high", low, high));
  const auto offset = static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(offset + draw_integer(static_cast<std::uint64_t>(high) - 1 - offset));
}

std::vector<std::int64_t> Random::permutation(std::int64_t count) {
  if (count < 0) throw Error(fmt::format("{} numbers cannot be shuffled; valid: 0 or more", count));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  shuffle(order);
  return order;
}

void Random::fill_with_standard_normal(double* values, std::size_t count) {
  std::generate_n(values, count, [this] { return standard_normal(); });
}

void Random::shuffle(std::vector<std::int64_t>& numbers) {
  for (std::size_t last = numbers.size(); last-- > 1;) std::swap(numbers[last], numbers[masked(last)]);
}

std::uint64_t Random::masked(std::uint64_t largest) {
  if (largest == 0) return 0;
  const bool fits_32_bits = largest <= std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t mask = bit_mask(largest);
  std::uint64_t value;
  do {
    value = (fits_32_bits ? next_uint32() : next_uint64()) & mask;
  } while (value > largest);
  return value;
}

namespace {

/// Walks up the distribution function from 0 to where it exceeds a uniform variate.
double binomial_by_inversion(Random& random, double n, double p) {
  const double q = 1.0 - p;
  const double mean = n * p;
  const double probability_of_0 = std::exp(n * std::log(q));
  const double bound = std::floor(std::min(n, mean + 10.0 * std::sqrt(mean * q + 1.0)));

  double successes = 0.0;
  double probability = probability_of_0;
  double u = random.random_sample();
  while (u > probability) {
    ++successes;
    if (successes > bound) {
      successes = 0.0;
      probability = probability_of_0;
      u = random.random_sample();
    } else {
      u -= probability;
      probability = ((n - successes + 1.0) * p * probability) / (successes * q);
    }
  }
  return successes;
}

/// BTPE (Kachitvichyanukul & Schmeiser 1988): rejection under a triangle, a parallelogram around it and two
/// exponential tails. For p <= 1/2 and a mean n·p of 10 or more.
class Btpe {
 public:
  Btpe(double n, double p) : n_(n), p_(p), q_(1.0 - p), variance_(n * p * q_), mode_(std::floor(n * p + p)) {
    const double mode_and_fraction = n * p + p;
    half_width_ = std::floor(2.195 * std::sqrt(variance_) - 4.6 * q_) + 0.5;
    centre_ = mode_ + 0.5;
    left_ = centre_ - half_width_;
    right_ = centre_ + half_width_;
    slope_ = 0.134 + 20.5 / (15.3 + mode_);
    left_rate_ = rate((mode_and_fraction - left_) / (mode_and_fraction - left_ * p));
    right_rate_ = rate((right_ - mode_and_fraction) / (right_ * q_));
    triangle_end_ = half_width_;
    parallelogram_end_ = half_width_ * (1.0 + 2.0 * slope_);
    left_tail_end_ = parallelogram_end_ + slope_ / left_rate_;
    right_tail_end_ = left_tail_end_ + slope_ / right_rate_;
  }

  double draw(Random& random) const {
    for (;;) {
      const double u = random.random_sample() * right_tail_end_;
      double v = random.random_sample();
      double y;
      if (u <= triangle_end_) {
        return std::floor(centre_ - half_width_ * v + u);
      } else if (u <= parallelogram_end_) {
        const double x = left_ + (u - half_width_) / slope_;
        v = v * slope_ + 1.0 - std::fabs(mode_ - x + 0.5) / half_width_;
        if (v > 1.0) continue;
        y = std::floor(x);
      } else if (u <= left_tail_end_) {
        y = std::floor(left_ + std::log(v) / left_rate_);
        if (y < 0.0) continue;
        v = v * (u - parallelogram_end_) * left_rate_;
      } else {
        y = std::floor(right_ - std::log(v) / right_rate_);
        if (y > n_) continue;
        v = v * (u - left_tail_end_) * right_rate_;
      }
      if (accepts(y, v)) return y;
    }
  }

 private:
  static double rate(double a) { return a * (1.0 + a / 2.0); }

  /// Whether v is at most P(y) / P(mode).
  bool accepts(double y, double v) const {
    const double distance = std::fabs(y - mode_);
    if (distance <= 20.0 || distance >= variance_ / 2.0 - 1.0) return !(v > probability_ratio(y));

    const double log_v = std::log(v);
    const double normal_log_ratio = -distance * distance / (2.0 * variance_);
    const double squeeze = (distance / variance_) *
                           ((distance * (distance / 3.0 + 0.625) + 0.16666666666666666) / variance_ + 0.5);
    if (log_v < normal_log_ratio - squeeze) return true;
    if (log_v > normal_log_ratio + squeeze) return false;
    return !(log_v > log_probability_ratio(y));
  }

  /// P(y) / P(mode) by the recursion from one to the other.
  double probability_ratio(double y) const {
    const double odds = p_ / q_;
    const double a = odds * (n_ + 1.0);
    double ratio = 1.0;
    for (double i = mode_ + 1.0; i <= y; ++i) ratio *= a / i - odds;
    for (double i = y + 1.0; i <= mode_; ++i) ratio /= a / i - odds;
    return ratio;
  }

  /// log(P(y) / P(mode)) by Stirling's formula for the factorials.
  double log_probability_ratio(double y) const {
    const double y_1 = y + 1.0;
    const double mode_1 = mode_ + 1.0;
    const double failures_at_mode = n_ + 1.0 - mode_;
    const double failures = n_ - y + 1.0;
    return centre_ * std::log(mode_1 / y_1) + (n_ - mode_ + 0.5) * std::log(failures_at_mode / failures) +
           (y - mode_) * std::log(failures * p_ / (y_1 * q_)) + stirling_correction(mode_1) +
           stirling_correction(failures_at_mode) + stirling_correction(y_1) + stirling_correction(failures);
  }

  static double stirling_correction(double x) {
    const double square = x * x;
    return (13680.0 - (462.0 - (132.0 - (99.0 - 140.0 / square) / square) / square) / square) / x / 166320.0;
  }

  double n_, p_, q_, variance_, mode_;
  double half_width_, centre_, left_, right_;  ///< of the triangle's base
  double slope_, left_rate_, right_rate_;
  double triangle_end_, parallelogram_end_, left_tail_end_, right_tail_end_;  ///< areas, summed up
};

/// For p <= 1/2.
double binomial_of_rarer(Random& random, double n, double p) {
  return p * n <= 30.0 ? binomial_by_inversion(random, n, p) : Btpe(n, p).draw(random);
}

}  // namespace

std::int64_t binomial_of_uniforms(Random& random, std::int64_t trials, double probability) {
  const auto n = static_cast<double>(trials);
  if (probability <= 0.5) return static_cast<std::int64_t>(binomial_of_rarer(random, n, probability));
  return trials - static_cast<std::int64_t>(binomial_of_rarer(random, n, 1.0 - probability));
}

}  // namespace attn

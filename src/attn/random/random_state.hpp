#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// NumPy's legacy generator `numpy.random.RandomState`, bit for bit: MT19937 with the distributions as they
/// were frozen (NEP 19), so that a tutorial that begins with `np.random.seed(42)` finds its numbers here.
class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) : generator_(seed) {}

  /// Uniform on [0, 1) with 53 random bits.
  double random_sample();

  /// Marsaglia's polar method; every second value comes from the cache of the first.
  double normal(double mean = 0.0, double standard_deviation = 1.0);

  /// A tensor of that shape, filled in C order.
  template <std::size_t N>
  Tensor<double, N> normal(double mean, double standard_deviation, const std::array<std::size_t, N>& shape) {
    Tensor<double, N> values(shape);
    for (double& value : values) value = normal(mean, standard_deviation);
    return values;
  }

  /// Number of successes in `trials` trials of probability `probability`: inversion for small means, BTPE
  /// (Kachitvichyanukul & Schmeiser 1988) otherwise. Uses up draws even where the result is certain. Throws
  /// Error unless 0 <= probability <= 1 and 0 <= trials <= 2^53, up to which float64 counts exactly.
  std::int64_t binomial(std::int64_t trials, double probability);

  /// One point of the simplex: gamma variates divided by their sum. Throws Error unless every alpha is
  /// positive.
  std::vector<double> dirichlet(const std::vector<double>& alpha);

  /// Uniform on low, …, high − 1, by masked rejection. Throws Error unless low < high.
  std::int64_t randint(std::int64_t low, std::int64_t high);

  /// 0, …, count − 1 shuffled from the end (Fisher & Yates). Throws Error for a negative count.
  std::vector<std::int64_t> permutation(std::int64_t count);

 private:
  std::uint32_t next_uint32() { return static_cast<std::uint32_t>(generator_()); }
  std::uint64_t next_uint64();

  /// Uniform on 0, …, largest; no draw where that is 0.
  std::uint64_t interval(std::uint64_t largest);

  std::mt19937 generator_;
  bool has_cached_normal_ = false;
  double cached_normal_ = 0.0;
};

}  // namespace attn

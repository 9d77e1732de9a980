#pragma once

#include <cstdint>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// A stream of random numbers that NumPy or PyTorch can draw, too: see RandomState, Generator and
/// TorchRandom.
class Random {
 public:
  virtual ~Random() = default;

  /// Uniform on [0, 1), with as many random bits as the library draws.
  virtual double random_sample() = 0;

  /// Normal with mean 0 and variance 1.
  virtual double standard_normal() = 0;

  double normal(double mean = 0.0, double standard_deviation = 1.0) {
    return mean + standard_deviation * standard_normal();
  }

  /// A tensor of that shape, filled in C order.
  template <std::size_t N>
  Tensor<N> normal(double mean, double standard_deviation, const std::array<std::size_t, N>& shape) {
    require_countable(shape);
    Tensor<N> values(shape);
    fill_with_standard_normal(values.data(), values.size());
    for (double& value : values) value = mean + standard_deviation * value;
    return values;
  }

  /// Number of successes in `trials` trials of probability `probability`. Throws Error unless
  /// 0 <= probability <= 1 and 0 <= trials <= 2^53, up to which float64 counts exactly.
  std::int64_t binomial(std::int64_t trials, double probability);

  /// Uniform on low, …, high − 1. Throws Error unless low < high.
  std::int64_t integer(std::int64_t low, std::int64_t high);

  /// 0, …, count − 1 shuffled (Fisher & Yates). Throws Error for a negative count.
  std::vector<std::int64_t> permutation(std::int64_t count);

 protected:
  /// One draw for each number, unless the library draws several at once in another way.
  virtual void fill_with_standard_normal(double* values, std::size_t count);

 private:
  virtual std::int64_t draw_binomial(std::int64_t trials, double probability) = 0;

  /// Uniform on 0, …, largest; no draw where that is 0.
  virtual std::uint64_t draw_integer(std::uint64_t largest) { return masked(largest); }

  /// From the last number to the second.
  virtual void shuffle(std::vector<std::int64_t>& numbers);

  virtual std::uint32_t next_uint32() = 0;
  virtual std::uint64_t next_uint64() = 0;

  /// As draw_integer: the lowest bits of 32 or 64, drawn again until they are small enough.
  std::uint64_t masked(std::uint64_t largest);
};

/// Number of successes in `trials` trials of probability `probability`, made of the uniform numbers of
/// `random`: by inversion for small means, by BTPE (Kachitvichyanukul & Schmeiser 1988) otherwise. Uses up
/// draws even where the result is certain.
std::int64_t binomial_of_uniforms(Random& random, std::int64_t trials, double probability);

}  // namespace attn

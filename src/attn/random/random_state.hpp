#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "attn/random/random.hpp"

namespace attn {

/// NumPy's legacy generator `numpy.random.RandomState`, bit for bit: MT19937 with the distributions as they
/// were frozen (NEP 19), so that a tutorial that begins with `np.random.seed(42)` finds its numbers here.
class RandomState final : public Random {
 public:
  /// numpy.random.RandomState(seed).
  explicit RandomState(std::uint32_t seed) : generator_(seed) {}

  /// numpy.random.RandomState([seed, key]): a stream of its own for each key.
  RandomState(std::uint32_t seed, std::uint32_t key);

  double random_sample() override;

  /// Marsaglia's polar method; every second value comes from the cache of the first.
  double standard_normal() override;

  /// One point of the simplex: gamma variates divided by their sum. Throws Error unless every alpha is
  /// positive.
  std::vector<double> dirichlet(const std::vector<double>& alpha);

 private:
  /// Uses up draws even where the result is certain.
  std::int64_t draw_binomial(std::int64_t trials, double probability) override;

  std::uint32_t next_uint32() override;
  std::uint64_t next_uint64() override;

  std::mt19937 generator_;
  bool has_cached_normal_ = false;
  double cached_normal_ = 0.0;
};

}  // namespace attn

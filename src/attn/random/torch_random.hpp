#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "attn/random/random.hpp"

namespace attn {

/// What PyTorch draws on a CPU after `torch.manual_seed(seed)`, in float32: `torch.rand` bit for bit,
/// `torch.randn` to 3e-7, which is what its vectorised logarithm, sine and cosine leave open. As of
/// PyTorch 1.13 (aten/src/ATen/native/cpu/DistributionTemplates.h, aten/src/ATen/core/DistributionsHelper.h).
class TorchRandom final : public Random {
 public:
  explicit TorchRandom(std::uint32_t seed) : generator_(seed) {}

  /// An element of `torch.rand`: 24 random bits.
  double random_sample() override;

  /// `torch.randn(1)`: one of a pair by Box and Muller (1958); the other comes from the cache.
  double standard_normal() override;

 private:
  /// `torch.randn(count)`: 16 numbers and more come from as many uniform ones, eight pairs at a time, and the
  /// last 16 anew where 16 does not divide the count.
  void fill_with_standard_normal(double* values, std::size_t count) override;

  /// `(torch.rand(trials) < probability).sum()`.
  std::int64_t draw_binomial(std::int64_t trials, double probability) override;

  /// `torch.randint(largest + 1, ())`.
  std::uint64_t draw_integer(std::uint64_t largest) override;

  /// `torch.randperm`: from the first number to the last but one.
  void shuffle(std::vector<std::int64_t>& numbers) override;

  double next_double();
  std::uint32_t next_uint32() override { return static_cast<std::uint32_t>(generator_()); }
  std::uint64_t next_uint64() override;

  std::mt19937 generator_;
  std::optional<double> cached_normal_;
};

}  // namespace attn

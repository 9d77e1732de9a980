#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
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

  /// Whether a trial of that probability succeeds: `binomial(1, probability)` of the library. Throws Error
  /// unless 0 <= probability <= 1.
  bool bernoulli(double probability);

  /// Uniform on low, …, high − 1. Throws Error unless low < high.
  std::int64_t integer(std::int64_t low, std::int64_t high);

  /// 0, …, count − 1 shuffled (Fisher & Yates). Throws Error for a negative count.
  std::vector<std::int64_t> permutation(std::int64_t count);

 protected:
  /// One draw for each number, unless the library draws several at once in another way.
  virtual void fill_with_standard_normal(double* values, std::size_t count);

  /// The upper half, then the lower one, unless the library draws both at once.
  virtual std::uint64_t next_uint64();

  /// From uniform numbers as NumPy does it: uses up draws even where the result is certain.
  virtual bool draw_bernoulli(double probability);

 private:
  /// Uniform on 0, …, largest; no draw where that is 0.
  virtual std::uint64_t draw_integer(std::uint64_t largest) { return masked(largest); }

  /// From the last number to the second.
  virtual void shuffle(std::vector<std::int64_t>& numbers);

  virtual std::uint32_t next_uint32() = 0;

  /// As draw_integer: the lowest bits of 32 or 64, drawn again until they are small enough.
  std::uint64_t masked(std::uint64_t largest);
};

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

 private:
  std::uint32_t next_uint32() override { return static_cast<std::uint32_t>(generator_()); }

  std::mt19937 generator_;
  std::optional<double> cached_normal_;
};

/// What a SeedSequence is made of; what is not given is 0.
using Entropy = std::array<std::uint32_t, 4>;

/// NumPy's `SeedSequence(entropy).generate_state(4, np.uint64)`: 256 bits in which every bit of the entropy
/// has a share (O'Neill 2015, "Developing a seed_seq Alternative").
std::array<std::uint64_t, 4> seed_state(Entropy entropy);

/// NumPy's `numpy.random.default_rng(seed)`, that is `Generator(PCG64(SeedSequence(seed)))`, bit for bit as
/// of NumPy 1.24. A later NumPy may draw other numbers (NEP 19); those of RandomState stay. PCG64 is a linear
/// congruential generator of 128 bits, of whose state 64 are made by a permutation (O'Neill 2014, XSL-RR).
class Generator final : public Random {
 public:
  explicit Generator(std::uint32_t seed) { start({seed}); }

  /// numpy.random.default_rng([seed, key]): a stream of its own for each key.
  Generator(std::uint32_t seed, std::uint32_t key) { start({seed, key}); }

  /// With 53 random bits.
  double random_sample() override { return static_cast<double>(next_uint64() >> 11) / 9007199254740992.0; }

  double standard_normal() override;

 private:
  __extension__ using Uint128 = unsigned __int128;

  void start(const Entropy& entropy);

  /// Costs no draw where the probability is 0.
  bool draw_bernoulli(double probability) override;

  /// By multiplication (Lemire 2019), with 32 bits where they are enough.
  std::uint64_t draw_integer(std::uint64_t largest) override;

  /// The lower half of 64 bits, and their upper half the next time.
  std::uint32_t next_uint32() override;
  std::uint64_t next_uint64() override;
  void step();

  Uint128 state_ = 0, increment_ = 0;
  std::optional<std::uint32_t> upper_half_;
};

/// The checksum CRC-32 of zlib, gzip and PNG, as Python's `zlib.crc32(text.encode())` gives it. It goes on
/// from that of the bytes before.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

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

  /// `torch.rand(1) < probability`.
  bool draw_bernoulli(double probability) override;

  /// `torch.randint(largest + 1, ())`.
  std::uint64_t draw_integer(std::uint64_t largest) override;

  /// `torch.randperm`: from the first number to the last but one.
  void shuffle(std::vector<std::int64_t>& numbers) override;

  double next_double();
  std::uint32_t next_uint32() override { return static_cast<std::uint32_t>(generator_()); }

  std::mt19937 generator_;
  std::optional<double> cached_normal_;
};

}  // namespace attn

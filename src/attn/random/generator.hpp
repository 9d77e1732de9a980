#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/random/random.hpp"

namespace attn {

/// What a SeedSequence is made of: up to four numbers.
using Entropy = std::vector<std::uint32_t>;

/// NumPy's bit generator `PCG64(SeedSequence(entropy))`: a linear congruential generator of 128 bits, of
/// whose state 64 are made by a permutation (O'Neill 2014, PCG XSL-RR 128/64).
class Pcg64 {
 public:
  explicit Pcg64(const Entropy& entropy);

  std::uint64_t next_uint64();

  /// The lower half of 64 bits, and their upper half the next time.
  std::uint32_t next_uint32();

  /// Uniform on [0, 1) with 53 random bits.
  double next_double() { return static_cast<double>(next_uint64() >> 11) / 9007199254740992.0; }

 private:
  __extension__ using Uint128 = unsigned __int128;

  void step();

  Uint128 state_;
  Uint128 increment_;
  bool has_upper_half_ = false;
  std::uint32_t upper_half_ = 0;
};

/// NumPy's `SeedSequence(entropy).generate_state(4, np.uint64)`: 256 bits in which every bit of the entropy
/// has a share (O'Neill 2015, "Developing a seed_seq Alternative"). Throws std::invalid_argument for more
/// than four numbers.
std::array<std::uint64_t, 4> seed_state(const Entropy& entropy);

/// NumPy's `numpy.random.default_rng(seed)`, that is `Generator(PCG64(SeedSequence(seed)))`, bit for bit as
/// of NumPy 1.24. A later NumPy may draw other numbers (NEP 19); those of RandomState stay.
class Generator final : public Random {
 public:
  explicit Generator(std::uint32_t seed) : bits_({seed}) {}

  /// numpy.random.default_rng([seed, key]): a stream of its own for each key.
  Generator(std::uint32_t seed, std::uint32_t key) : bits_({seed, key}) {}

  double random_sample() override;

  /// By the ziggurat method.
  double standard_normal() override;

 private:
  /// Costs no draw where there are no trials or the probability is 0.
  std::int64_t draw_binomial(std::int64_t trials, double probability) override;

  /// By multiplication (Lemire 2019), with 32 bits where they are enough.
  std::uint64_t draw_integer(std::uint64_t largest) override;

  std::uint32_t next_uint32() override { return bits_.next_uint32(); }
  std::uint64_t next_uint64() override { return bits_.next_uint64(); }

  Pcg64 bits_;
};

/// The checksum CRC-32 of zlib, gzip and PNG, as Python's `zlib.crc32(text.encode())` gives it. It goes on
/// from that of the bytes before.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace attn

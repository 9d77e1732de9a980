#pragma once

#include <cstdint>
#include <string_view>

#include "attn/random/pcg64.hpp"
#include "attn/random/random.hpp"

namespace attn {

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

#pragma once

#include <array>
#include <cstdint>
#include <vector>

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

}  // namespace attn

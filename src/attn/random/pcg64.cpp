#include "attn/random/pcg64.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace attn {

namespace {

constexpr std::uint32_t fold(std::uint32_t value) {
  return value ^ value >> 16;
}

/// Hashes words with a constant that is another one for each.
class Hash {
 public:
  constexpr Hash(std::uint32_t constant, std::uint32_t factor) : constant_(constant), factor_(factor) {}

  constexpr std::uint32_t operator()(std::uint32_t word) {
    word ^= constant_;
    constant_ *= factor_;
    return fold(word * constant_);
  }

 private:
  std::uint32_t constant_, factor_;
};

constexpr std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  return fold(0xca01f9ddu * x - 0x4973f715u * y);
}

/// Four words, each of which depends on the whole entropy.
std::array<std::uint32_t, 4> seed_pool(const Entropy& entropy) {
  Hash hash(0x43b0d7e5u, 0x931e8875u);
  std::array<std::uint32_t, 4> pool{};
  if (entropy.size() > pool.size())
    throw std::invalid_argument("[seed_state] more than four numbers are given: at most four are mixed");
  std::copy(entropy.begin(), entropy.end(), pool.begin());
  for (auto& word : pool) word = hash(word);
  for (std::size_t from = 0; from < pool.size(); ++from)
    for (std::size_t to = 0; to < pool.size(); ++to)
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
  return pool;
}

}  // namespace

std::array<std::uint64_t, 4> seed_state(const Entropy& entropy) {
  const auto pool = seed_pool(entropy);
  Hash hash(0x8b51f9ddu, 0x58f38dedu);
  std::array<std::uint64_t, 4> state{};
  for (std::size_t half = 0; half < 2 * state.size(); ++half)
    state[half / 2] |= std::uint64_t{hash(pool[half % pool.size()])} << (half % 2 * 32);
  return state;
}

Pcg64::Pcg64(const Entropy& entropy) {
  const auto [state_high, state_low, stream_high, stream_low] = seed_state(entropy);
  increment_ = (Uint128{stream_high} << 64 | stream_low) << 1 | 1;
  state_ = increment_ + (Uint128{state_high} << 64 | state_low);
  step();
}

std::uint64_t Pcg64::next_uint64() {
  step();
  const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t Pcg64::next_uint32() {
  has_upper_half_ = !has_upper_half_;
  if (!has_upper_half_) return upper_half_;
  const auto bits = next_uint64();
  upper_half_ = static_cast<std::uint32_t>(bits >> 32);
  return static_cast<std::uint32_t>(bits);
}

void Pcg64::step() {
  constexpr Uint128 factor = Uint128{0x2360ed051fc65da4u} << 64 | 0x4385df649fccf645u;
  state_ = state_ * factor + increment_;
}

}  // namespace attn

#include "attn/random/generator.hpp"

#include <limits>

#include "attn/random/binomial.hpp"
#include "attn/random/ziggurat.hpp"

namespace attn {

namespace {

__extension__ using Uint128 = unsigned __int128;

/// Uniform on 0, …, largest, which is less than the largest Word: the upper word of `next()` · (largest + 1),
/// drawn again where the lower word says that this result would come too often (Lemire 2019).
template <class Word, class DoubleWord, class Next>
Word scaled_down(Word largest, Next next) {
  constexpr int bits = std::numeric_limits<Word>::digits;
  const Word count = largest + 1;
  const Word too_often = static_cast<Word>(-count) % count;
  DoubleWord product;
  do {
    product = DoubleWord{next()} * count;
  } while (static_cast<Word>(product) < too_often);
  return static_cast<Word>(product >> bits);
}

}  // namespace

double Generator::random_sample() {
  return bits_.next_double();
}

double Generator::standard_normal() {
  return ziggurat_normal(bits_);
}

std::int64_t Generator::draw_binomial(std::int64_t trials, double probability) {
  if (trials == 0 || probability == 0.0) return 0;
  return binomial_of_uniforms(*this, trials, probability);
}

std::uint64_t Generator::draw_integer(std::uint64_t largest) {
  constexpr std::uint64_t largest_32 = std::numeric_limits<std::uint32_t>::max(),
                          largest_64 = std::numeric_limits<std::uint64_t>::max();
  if (largest == 0) return 0;
  if (largest == largest_32) return next_uint32();
  if (largest == largest_64) return next_uint64();
  if (largest < largest_32)
    return scaled_down<std::uint32_t, std::uint64_t>(static_cast<std::uint32_t>(largest),
                                                     [this] { return next_uint32(); });
  return scaled_down<std::uint64_t, Uint128>(largest, [this] { return next_uint64(); });
}

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  constexpr std::uint32_t polynomial = 0xedb88320u;
  std::uint32_t remainder = ~before;
  for (const char byte : bytes) {
    remainder ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ (remainder % 2 == 1 ? polynomial : 0u);
  }
  return ~remainder;
}

}  // namespace attn

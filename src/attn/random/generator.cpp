#include "attn/random/generator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "attn/random/random.hpp"

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

namespace {

constexpr std::size_t layer_count = 256;
constexpr double tail_begin = 3.6541528853610088;     ///< where the layer at the bottom becomes the tail
constexpr double layer_area = 0.0049286732339746519;  ///< of each layer, the tail included
constexpr double units = 0x1p52;                      ///< into which a layer's width is divided

double density(double x) {
  return std::exp(-0.5 * x * x);
}

/// Layer 0 is the one at the bottom; of the others the topmost is 1 and the lowest 255.
struct Ziggurat {
  std::array<double, layer_count> unit;         ///< the width of a layer, divided by `units`
  std::array<double, layer_count> density;      ///< at its right end
  std::array<std::uint64_t, layer_count> safe;  ///< how many units lie below the density in all their height

  Ziggurat();
};

std::uint64_t units_in(double ratio) {
  return static_cast<std::uint64_t>(std::nearbyint(ratio * units));
}

/// Each layer ends where the density has risen by the layer's height, area / width. The density at the end of
/// layer 38 lies almost halfway between two float64 numbers; NumPy's table has the upper one.
Ziggurat::Ziggurat() {
  double width = tail_begin;
  unit.back() = width / units;
  density.back() = attn::density(width);
  safe.front() = units_in(width * density.back() / layer_area);
  unit.front() = layer_area / density.back() / units;
  density.front() = 1.0;
  for (std::size_t layer = layer_count - 2; layer > 0; --layer) {
    const double inner = std::sqrt(-2.0 * std::log(layer_area / width + density[layer + 1]));
    safe[layer + 1] = units_in(inner / width);
    unit[layer] = inner / units;
    density[layer] = attn::density(inner);
    if (layer == 38) density[layer] = 0x1.5ad29acc85c89p-1;
    width = inner;
  }
  safe[1] = 0;
}

/// A number beyond `tail_begin` (Marsaglia 1964).
double tail(Pcg64& bits) {
  constexpr double reciprocal = 0.27366123732975827;  // of tail_begin
  for (;;) {
    const double x = -std::log1p(-bits.next_double()) * reciprocal;
    const double y = -std::log1p(-bits.next_double());
    if (y + y > x * x) return tail_begin + x;
  }
}

/// One number normal(0, 1) by the ziggurat of Marsaglia & Tsang 2000: the area under the density is covered
/// with 256 layers of equal area, a layer and a point in it are drawn, and nearly always the point lies below
/// the density. The layers are those of NumPy, bit for bit.
double ziggurat_normal(Pcg64& bits) {
  static const Ziggurat ziggurat;
  for (;;) {
    const auto drawn = bits.next_uint64();
    const auto layer = drawn & 0xff;
    const bool is_negative = (drawn >> 8 & 1) != 0;
    const auto distance = drawn >> 9 & 0xfffffffffffff;
    const double size = static_cast<double>(distance) * ziggurat.unit[layer];
    const double x = is_negative ? -size : size;
    if (distance < ziggurat.safe[layer]) return x;
    if (layer == 0) return (distance >> 8 & 1) != 0 ? -tail(bits) : tail(bits);
    const double height = ziggurat.density[layer - 1] - ziggurat.density[layer];
    if (height * bits.next_double() + ziggurat.density[layer] < density(x)) return x;
  }
}

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

#include "attn/random/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "attn/error.hpp"

namespace attn {

namespace {

/// The smallest number of the form 2^k − 1 that is not below `largest`.
std::uint64_t bit_mask(std::uint64_t largest) {
  for (unsigned shift = 1; shift < 64; shift *= 2) largest |= largest >> shift;
  return largest;
}

/// The state of MT19937 that follows from two numbers: init_by_array of Matsumoto & Nishimura (2002), as a
/// seed sequence of C++.
struct ArraySeed {
  using result_type = std::uint32_t;

  std::array<std::uint32_t, 2> keys;

  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    constexpr std::uint32_t seed_of_all = 19650218u, first_factor = 1664525u, second_factor = 1566083941u;
    const auto size = static_cast<std::uint32_t>(end - begin);
    std::uint32_t word = seed_of_all;
    for (std::uint32_t i = 0; i < size; ++i) {
      if (i > 0) word = 1812433253u * (word ^ word >> 30) + i;
      begin[i] = word;
    }
    std::uint32_t at = 1;
    const auto mix = [&](std::uint32_t factor, std::uint32_t addend) {
      const std::uint32_t before = begin[at - 1], now = begin[at];
      begin[at] = (now ^ (before ^ before >> 30) * factor) + addend;
      if (++at < size) return;
      begin[0] = begin[size - 1];
      at = 1;
    };
    for (std::uint32_t i = 0; i < size; ++i) mix(first_factor, keys[i % 2] + i % 2);
    for (std::uint32_t i = 1; i < size; ++i) mix(second_factor, 0u - at);
    begin[0] = 0x80000000u;
  }
};

/// Hashes words with a constant that is another one for each.
struct Hash {
  std::uint32_t constant, factor;

  std::uint32_t operator()(std::uint32_t word) {
    word ^= constant;
    constant *= factor;
    return fold(word * constant);
  }

  static std::uint32_t fold(std::uint32_t value) { return value ^ value >> 16; }
};

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
double tail(Generator& random) {
  constexpr double reciprocal = 0.27366123732975827;  // of tail_begin
  for (;;) {
    const double x = -std::log1p(-random.random_sample()) * reciprocal;
    const double y = -std::log1p(-random.random_sample());
    if (y + y > x * x) return tail_begin + x;
  }
}

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

constexpr std::size_t block = 16, pairs = block / 2;

/// Makes normal numbers of 16 uniform ones in float32: pair j stands at j and j + 8.
void box_muller(double* values) {
  for (std::size_t j = 0; j < pairs; ++j) {
    const float u1 = 1.0F - static_cast<float>(values[j]), u2 = static_cast<float>(values[j + pairs]);
    const float radius = std::sqrt(-2.0F * std::log(u1)), angle = 2.0F * std::numbers::pi_v<float> * u2;
    values[j] = radius * std::cos(angle);
    values[j + pairs] = radius * std::sin(angle);
  }
}

}  // namespace

bool Random::bernoulli(double probability) {
  if (!(probability >= 0.0 && probability <= 1.0))
    throw Error(fmt::format("probability {} is out of range; valid: 0 to 1", probability));
  return draw_bernoulli(probability);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  if (low >= high)
    throw Error(fmt::format("there is no integer from {} to below {}; valid: low less than high", low, high));
  const auto offset = static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(offset + draw_integer(static_cast<std::uint64_t>(high) - 1 - offset));
}

std::vector<std::int64_t> Random::permutation(std::int64_t count) {
  if (count < 0) throw Error(fmt::format("{} numbers cannot be shuffled; valid: 0 or more", count));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  shuffle(order);
  return order;
}

void Random::fill_with_standard_normal(double* values, std::size_t count) {
  std::generate_n(values, count, [this] { return standard_normal(); });
}

void Random::shuffle(std::vector<std::int64_t>& numbers) {
  for (std::size_t last = numbers.size(); last-- > 1;) std::swap(numbers[last], numbers[masked(last)]);
}

std::uint64_t Random::masked(std::uint64_t largest) {
  if (largest == 0) return 0;
  const bool fits_32_bits = largest <= std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t mask = bit_mask(largest);
  std::uint64_t value;
  do {
    value = (fits_32_bits ? next_uint32() : next_uint64()) & mask;
  } while (value > largest);
  return value;
}

/// By inversion: the walk up the distribution function, begun anew where rounding leaves it beyond 1.
bool Random::draw_bernoulli(double p) {
  if (p > 0.5) return !Random::draw_bernoulli(1.0 - p);
  const double q = 1.0 - p, probability_of_0 = std::exp(std::log(q)),
               probability_of_1 = p * probability_of_0 / q;
  for (;;) {
    const double u = random_sample();
    if (u <= probability_of_0) return false;
    if (u - probability_of_0 <= probability_of_1) return true;
  }
}

RandomState::RandomState(std::uint32_t seed, std::uint32_t key) {
  ArraySeed of_both{{seed, key}};
  generator_.seed(of_both);
}

std::uint64_t Random::next_uint64() {
  const std::uint64_t high = next_uint32();
  return high << 32 | next_uint32();
}

double RandomState::random_sample() {
  const std::uint32_t high = next_uint32() >> 5;
  const std::uint32_t low = next_uint32() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double RandomState::standard_normal() {
  if (cached_normal_) return *std::exchange(cached_normal_, std::nullopt);
  double x, y, square;
  do {
    x = 2.0 * random_sample() - 1.0;
    y = 2.0 * random_sample() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  cached_normal_ = factor * x;
  return factor * y;
}

std::array<std::uint64_t, 4> seed_state(Entropy pool) {
  Hash of_entropy{0x43b0d7e5u, 0x931e8875u}, of_pool{0x8b51f9ddu, 0x58f38dedu};
  for (auto& word : pool) word = of_entropy(word);
  for (std::size_t from = 0; from < pool.size(); ++from)
    for (std::size_t to = 0; to < pool.size(); ++to)
      if (from != to) pool[to] = Hash::fold(0xca01f9ddu * pool[to] - 0x4973f715u * of_entropy(pool[from]));
  std::array<std::uint64_t, 4> state{};
  for (std::size_t half = 0; half < 2 * state.size(); ++half)
    state[half / 2] |= std::uint64_t{of_pool(pool[half % pool.size()])} << (half % 2 * 32);
  return state;
}

void Generator::start(const Entropy& entropy) {
  const auto [state_high, state_low, stream_high, stream_low] = seed_state(entropy);
  increment_ = (Uint128{stream_high} << 64 | stream_low) << 1 | 1;
  state_ = increment_ + (Uint128{state_high} << 64 | state_low);
  step();
}

std::uint64_t Generator::next_uint64() {
  step();
  const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t Generator::next_uint32() {
  if (upper_half_) return *std::exchange(upper_half_, std::nullopt);
  const auto bits = next_uint64();
  upper_half_ = static_cast<std::uint32_t>(bits >> 32);
  return static_cast<std::uint32_t>(bits);
}

void Generator::step() {
  constexpr Uint128 factor = Uint128{0x2360ed051fc65da4u} << 64 | 0x4385df649fccf645u;
  state_ = state_ * factor + increment_;
}

/// By the ziggurat of Marsaglia & Tsang 2000: the area under the density is covered with 256 layers of equal
/// area, a layer and a point in it are drawn, and nearly always the point lies below the density. The layers
/// are those of NumPy, bit for bit.
double Generator::standard_normal() {
  static const Ziggurat ziggurat;
  for (;;) {
    const auto drawn = next_uint64();
    const auto layer = drawn & 0xff;
    const bool is_negative = (drawn >> 8 & 1) != 0;
    const auto distance = drawn >> 9 & 0xfffffffffffff;
    const double size = static_cast<double>(distance) * ziggurat.unit[layer];
    const double x = is_negative ? -size : size;
    if (distance < ziggurat.safe[layer]) return x;
    if (layer == 0) return (distance >> 8 & 1) != 0 ? -tail(*this) : tail(*this);
    const double height = ziggurat.density[layer - 1] - ziggurat.density[layer];
    if (height * random_sample() + ziggurat.density[layer] < density(x)) return x;
  }
}

bool Generator::draw_bernoulli(double probability) {
  return probability > 0.0 && Random::draw_bernoulli(probability);
}

std::uint64_t Generator::draw_integer(std::uint64_t largest) {
  constexpr std::uint64_t largest_32 = std::numeric_limits<std::uint32_t>::max();
  if (largest == 0) return 0;
  if (largest == largest_32) return next_uint32();
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

double TorchRandom::random_sample() {
  constexpr std::uint32_t lowest_24_bits = 0xFFFFFFu;
  return std::ldexp(next_uint32() & lowest_24_bits, -24);
}

double TorchRandom::next_double() {
  constexpr int bits = std::numeric_limits<double>::digits;
  return std::ldexp(static_cast<double>(next_uint64() & ((std::uint64_t{1} << bits) - 1)), -bits);
}

double TorchRandom::standard_normal() {
  if (cached_normal_) return *std::exchange(cached_normal_, std::nullopt);
  const double u1 = next_double(), u2 = next_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * std::numbers::pi * u1;
  cached_normal_ = static_cast<float>(radius * std::sin(angle));
  return static_cast<float>(radius * std::cos(angle));
}

void TorchRandom::fill_with_standard_normal(double* values, std::size_t count) {
  if (count < block) return Random::fill_with_standard_normal(values, count);
  const auto draw = [&](double* first, double* last) {
    for (; first != last; ++first) *first = random_sample();
  };
  draw(values, values + count);
  for (std::size_t begin = 0; begin + block <= count; begin += block) box_muller(values + begin);
  if (count % block == 0) return;
  double* const last_block = values + count - block;
  draw(last_block, last_block + block);
  box_muller(last_block);
}

bool TorchRandom::draw_bernoulli(double probability) {
  return random_sample() < static_cast<double>(static_cast<float>(probability));
}

std::uint64_t TorchRandom::draw_integer(std::uint64_t largest) {
  const bool fits_32_bits = largest < std::numeric_limits<std::uint32_t>::max();
  return (fits_32_bits ? next_uint32() : next_uint64()) % (largest + 1);
}

void TorchRandom::shuffle(std::vector<std::int64_t>& numbers) {
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
    std::swap(numbers[i], numbers[i + next_uint32() % (numbers.size() - i)]);
}

}  // namespace attn

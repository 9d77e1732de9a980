#include "attn/random/torch_random.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace attn {

namespace {

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

std::uint64_t TorchRandom::next_uint64() {
  const std::uint64_t high = next_uint32();
  return high << 32 | next_uint32();
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

std::int64_t TorchRandom::draw_binomial(std::int64_t trials, double probability) {
  const double limit = static_cast<float>(probability);
  std::int64_t successes = 0;
  for (std::int64_t trial = 0; trial < trials; ++trial) successes += random_sample() < limit ? 1 : 0;
  return successes;
}

std::uint64_t TorchRandom::draw_integer(std::uint64_t largest) {
  if (largest == std::numeric_limits<std::uint64_t>::max()) return next_uint64();
  const bool fits_32_bits = largest < std::numeric_limits<std::uint32_t>::max();
  return (fits_32_bits ? next_uint32() : next_uint64()) % (largest + 1);
}

void TorchRandom::shuffle(std::vector<std::int64_t>& numbers) {
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
    std::swap(numbers[i], numbers[i + next_uint32() % (numbers.size() - i)]);
}

}  // namespace attn

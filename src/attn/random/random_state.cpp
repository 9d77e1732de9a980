#include "attn/random/random_state.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/error.hpp"
#include "attn/random/random.hpp"

namespace attn {

namespace {

/// The state of MT19937 that follows from two numbers: init_by_array of Matsumoto & Nishimura (2002), as a
/// seed sequence of C++.
class ArraySeed {
 public:
  using result_type = std::uint32_t;

  ArraySeed(std::uint32_t seed, std::uint32_t key) : keys_{seed, key} {}

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
    for (std::uint32_t i = 0; i < size; ++i) mix(first_factor, keys_[i % 2] + i % 2);
    for (std::uint32_t i = 1; i < size; ++i) mix(second_factor, 0u - at);
    begin[0] = 0x80000000u;
  }

 private:
  std::array<std::uint32_t, 2> keys_;
};

std::mt19937 seeded_with(ArraySeed seed) {
  return std::mt19937(seed);
}

double standard_exponential(RandomState& random) {
  return -std::log(1.0 - random.random_sample());
}

/// Marsaglia & Tsang 2000: a transformed normal variate, for shape > 1.
double gamma_by_normal(RandomState& random, double shape) {
  const double b = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * b);
  for (;;) {
    double x, v;
    do {
      x = random.normal();
      v = 1.0 + c * x;
    } while (v <= 0.0);
    v = v * v * v;
    const double u = random.random_sample();
    if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return b * v;
    if (std::log(u) < 0.5 * x * x + b * (1.0 - v + std::log(v))) return b * v;
  }
}

/// Ahrens & Dieter 1974, algorithm GS: rejection in two pieces, for shape < 1.
double gamma_by_rejection(RandomState& random, double shape) {
  for (;;) {
    const double u = random.random_sample();
    const double v = standard_exponential(random);
    if (u <= 1.0 - shape) {
      const double x = std::pow(u, 1.0 / shape);
      if (x <= v) return x;
    } else {
      const double y = -std::log((1.0 - u) / shape);
      const double x = std::pow(1.0 - shape + shape * y, 1.0 / shape);
      if (x <= v + y) return x;
    }
  }
}

double standard_gamma(RandomState& random, double shape) {
  if (shape == 1.0) return standard_exponential(random);
  return shape < 1.0 ? gamma_by_rejection(random, shape) : gamma_by_normal(random, shape);
}

}  // namespace

RandomState::RandomState(std::uint32_t seed, std::uint32_t key) : generator_(seeded_with({seed, key})) {}

std::uint32_t RandomState::next_uint32() {
  return static_cast<std::uint32_t>(generator_());
}

std::uint64_t RandomState::next_uint64() {
  const std::uint64_t high = next_uint32();
  return high << 32 | next_uint32();
}

double RandomState::random_sample() {
  const std::uint32_t high = next_uint32() >> 5;
  const std::uint32_t low = next_uint32() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double RandomState::standard_normal() {
  if (std::exchange(has_cached_normal_, false)) return cached_normal_;
  double x, y, square;
  do {
    x = 2.0 * random_sample() - 1.0;
    y = 2.0 * random_sample() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  cached_normal_ = factor * x;
  has_cached_normal_ = true;
  return factor * y;
}

std::int64_t RandomState::draw_binomial(std::int64_t trials, double probability) {
  return binomial_of_uniforms(*this, trials, probability);
}

std::vector<double> RandomState::dirichlet(const std::vector<double>& alpha) {
  for (const double shape : alpha)
    if (!(shape > 0.0))
      throw Error(fmt::format("dirichlet alpha {} is not positive; valid: any number above 0", shape));
  std::vector<double> point;
  for (const double shape : alpha) point.push_back(standard_gamma(*this, shape));
  const double scale = 1.0 / std::accumulate(point.begin(), point.end(), 0.0);
  for (double& coordinate : point) coordinate *= scale;
  return point;
}

}  // namespace attn

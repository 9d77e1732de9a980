#include "attn/random/random_state.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "attn/error.hpp"
#include "attn/random/binomial.hpp"

namespace attn {

namespace {

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

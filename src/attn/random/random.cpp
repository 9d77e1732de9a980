#include "attn/random/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

namespace attn {

namespace {

/// The smallest number of the form 2^k − 1 that is not below `largest`.
std::uint64_t bit_mask(std::uint64_t largest) {
  for (unsigned shift = 1; shift < 64; shift *= 2) largest |= largest >> shift;
  return largest;
}

}  // namespace

std::int64_t Random::binomial(std::int64_t trials, double probability) {
  constexpr auto largest = std::int64_t{1} << std::numeric_limits<double>::digits;
  if (!(probability >= 0.0 && probability <= 1.0))
    throw Error(fmt::format("binomial probability {} is out of range; valid: 0 to 1", probability));
  if (trials < 0 || trials > largest)
    throw Error(fmt::format("binomial trials {} are out of range; valid: 0 to {}", trials, largest));
  return draw_binomial(trials, probability);
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

}  // namespace attn

#include "attn/ops/mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/text/text_file.hpp"

namespace attn {

namespace {

/// 0, 1, … as a column, and as a row.
auto query_positions(std::size_t n_q) {
  return xt::view(xt::arange(n_q), xt::all(), xt::newaxis());
}
auto key_positions(std::size_t n_k) {
  return xt::view(xt::arange(n_k), xt::newaxis());
}

std::string valid_pattern(std::size_t n) {
  return fmt::format("a text file of {0} line{1} with {0} digit{1} 0 or 1 each", n, n == 1 ? "" : "s");
}

/// The character, or the byte where it is none by itself.
std::string printed(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x80 ? std::string(1, character) : fmt::format("byte 0x{:02X}", byte);
}

}  // namespace

Mask<2> causal_mask(std::size_t n_q, std::size_t n_k) {
  return key_positions(n_k) + n_q <= query_positions(n_q) + n_k;
}

Mask<2> window_mask(std::size_t n_q, std::size_t n_k, std::size_t window) {
  const Integers<2> query = query_positions(n_q) + n_k, key = key_positions(n_k) + n_q;
  return xt::abs(query - key) <= window;
}

Mask<3> padding_mask(const std::vector<std::size_t>& lengths, std::size_t n_q, std::size_t n_k) {
  Mask<3> mask({lengths.size(), n_q, n_k});
  for (std::size_t b = 0; b < lengths.size(); ++b) xt::view(mask, b) = xt::arange(n_k) < lengths[b];
  return mask;
}

Mask<3> repeat_mask(const Mask<2>& mask, std::size_t batch) {
  return xt::broadcast(mask, {batch, mask.shape(0), mask.shape(1)});
}

bool has_empty_row(const Mask<3>& mask) {
  return xt::any(xt::equal(xt::sum(mask, {2}), 0));
}

Mask<3> both(const Mask<3>& a, const Mask<3>& b) {
  if (a.shape() != b.shape()) throw shape_mismatch("both", "a", a, "b", b, "the shapes must be equal");
  return a && b;
}

template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4> {
  if (!(p >= 0.0 && p < 1.0))
    throw std::invalid_argument(
        fmt::format("[dropout_mask] p is {}: it must be at least 0 and less than 1", p));
  Integers<N> mask(shape);
  for (auto& kept : mask) kept = random.bernoulli(1.0 - p);
  return mask;
}

#define INSTANTIATE(N) template Integers<N> dropout_mask(Random&, double, const std::array<std::size_t, N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

KeyLists all_keys(std::size_t n_q, std::size_t n_k) {
  std::vector<std::size_t> all(n_k);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return KeyLists(n_q, all);
}

KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after) {
  KeyLists keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - std::min(i, before), last = i + std::min(n - 1 - i, after);
    for (std::size_t j = first; j <= last; ++j) keys[i].push_back(j);
  }
  return keys;
}

KeyLists keys_of(const Mask<2>& mask) {
  KeyLists keys(mask.shape(0));
  for (std::size_t i = 0; i < mask.shape(0); ++i)
    for (std::size_t j = 0; j < mask.shape(1); ++j)
      if (mask(i, j)) keys[i].push_back(j);
  return keys;
}

std::size_t pair_count(const KeyLists& keys) {
  std::size_t count = 0;
  for (const auto& of_query : keys) count += of_query.size();
  return count;
}

Mask<2> strided_pattern(std::size_t n, std::size_t stride) {
  const Integers<2> query = query_positions(n), key = key_positions(n), distance = xt::abs(query - key);
  return distance < stride || xt::equal(distance % stride, 0);
}

Mask<2> random_pattern(Random& random, std::size_t n, std::size_t count) {
  Mask<2> mask({n, n}, false);
  for (std::size_t i = 0; i < n; ++i) {
    const auto keys = random.permutation(static_cast<std::int64_t>(n));
    for (std::size_t k = 0; k < std::min(count, n); ++k) mask(i, static_cast<std::size_t>(keys[k])) = true;
    mask(i, i) = true;
  }
  return mask;
}

Mask<2> load_pattern(const std::string& path, std::size_t n) {
  TextLines file(path, valid_pattern(n), 8 * n + 255);
  Mask<2> mask({n, n});
  std::size_t lines = 0;
  while (const auto line = file.next()) {
    if (line->find('\0') != line->npos) file.fail("there is a NUL byte");
    std::string digits(*line);
    std::erase_if(digits, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (const auto wrong = digits.find_first_not_of("01"); wrong != digits.npos)
      file.fail(fmt::format("{:?} is neither 0 nor 1", printed(digits[wrong])));
    if (digits.empty()) continue;
    if (lines == n) file.fail(fmt::format("there are more than {} lines for as many tokens", n));
    if (digits.size() != n) file.fail(fmt::format("there are {} digits for {} tokens", digits.size(), n));
    for (std::size_t j = 0; j < n; ++j) mask(lines, j) = digits[j] == '1';
    ++lines;
  }
  if (lines < n)
    throw Error(fmt::format("{} has {} line{} for {} tokens; valid: {}", path, lines, lines == 1 ? "" : "s",
                            n, valid_pattern(n)));
  return mask;
}

}  // namespace attn

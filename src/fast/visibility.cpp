#include "fast/visibility.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace attn::fast {

Range common(const Range& a, const Range& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

namespace {

constexpr auto unlimited = std::numeric_limits<std::ptrdiff_t>::max() / 4;  // sums of it do not overflow

std::ptrdiff_t limited(std::size_t length) {
  return static_cast<std::ptrdiff_t>(std::min(length, static_cast<std::size_t>(unlimited)));
}

std::ptrdiff_t position_of(const Sizes& sizes, const Visibility& visible, std::size_t query) {
  if (!visible.query_positions.empty()) return static_cast<std::ptrdiff_t>(visible.query_positions[query]);
  return static_cast<std::ptrdiff_t>(query + sizes.n_k) - static_cast<std::ptrdiff_t>(sizes.n_q);
}

/// How many keys stand before a position.
std::size_t keys_before(const Sizes& sizes, const Visibility& visible, std::ptrdiff_t position) {
  const auto before = static_cast<std::size_t>(position);
  const auto& keys = visible.key_positions;
  if (keys.empty()) return std::min(before, sizes.n_k);
  return static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), before) - keys.begin());
}

}  // namespace

Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query) {
  const auto position = position_of(sizes, visible, query);
  const auto window = visible.window ? limited(*visible.window) : unlimited;
  const auto length = visible.key_lengths.empty() ? unlimited : limited(visible.key_lengths[sample]);

  const std::ptrdiff_t last = visible.causal ? position : position + window;
  const std::ptrdiff_t end = std::clamp(last + 1, std::ptrdiff_t{0}, length);
  const std::ptrdiff_t begin = std::clamp(position - window, std::ptrdiff_t{0}, end);
  return {keys_before(sizes, visible, begin), keys_before(sizes, visible, end)};
}

Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, const Range& queries) {
  if (queries.empty()) return {};
  return {visible_keys(sizes, visible, sample, queries.begin).begin,
          visible_keys(sizes, visible, sample, queries.end - 1).end};
}

}  // namespace attn::fast

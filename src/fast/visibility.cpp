#include "fast/visibility.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace attn::fast {

Range common(const Range& a, const Range& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

std::vector<Range> cut(std::size_t length, std::size_t step) {
  std::vector<Range> ranges;
  for (std::size_t begin = 0; begin < length; begin += step)
    ranges.push_back({begin, std::min(begin + step, length)});
  return ranges;
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

namespace {

[[noreturn]] void fail(const std::string& problem) {
  throw std::invalid_argument("[block_sparse] " + problem);
}

}  // namespace

BlockPattern strided_blocks(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t local,
                            std::size_t stride) {
  if (block == 0) throw std::invalid_argument("[strided_blocks] a block of 0 makes no pattern");
  if (stride == 0) throw std::invalid_argument("[strided_blocks] a stride of 0 makes no pattern");
  BlockPattern pattern = {block, std::vector<std::vector<std::size_t>>(block_count(n_q, block))};
  for (std::size_t i = 0; i < pattern.key_blocks.size(); ++i)
    for (std::size_t j = 0; j < block_count(n_k, block); ++j) {
      const std::size_t distance = i > j ? i - j : j - i;
      if (distance < local || distance % stride == 0) pattern.key_blocks[i].push_back(j);
    }
  return pattern;
}

std::size_t block_count(std::size_t length, std::size_t block) {
  return length / block + (length % block == 0 ? 0 : 1);
}

void require_fitting(const BlockPattern& pattern, const Sizes& sizes) {
  if (pattern.block == 0) fail("a block of 0 makes no pattern");
  const std::size_t query_blocks = block_count(sizes.n_q, pattern.block);
  const std::size_t key_blocks = block_count(sizes.n_k, pattern.block);
  if (pattern.key_blocks.size() != query_blocks)
    fail(std::to_string(pattern.key_blocks.size()) + " lists for " + std::to_string(query_blocks) +
         " blocks of queries");
  for (const auto& list : pattern.key_blocks) {
    if (std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) != list.end())
      fail("a list of key blocks does not rise");
    if (!list.empty() && list.back() >= key_blocks)
      fail("key block " + std::to_string(list.back()) + " of " + std::to_string(key_blocks));
  }
}

std::vector<Range> key_ranges(const BlockPattern& pattern, std::size_t query_block, const Range& visible) {
  std::vector<Range> ranges;
  for (const std::size_t block : pattern.key_blocks[query_block]) {
    const auto keys = common({block * pattern.block, (block + 1) * pattern.block}, visible);
    if (keys.empty()) continue;
    if (!ranges.empty() && ranges.back().end == keys.begin)
      ranges.back().end = keys.end;
    else
      ranges.push_back(keys);
  }
  return ranges;
}

}  // namespace attn::fast

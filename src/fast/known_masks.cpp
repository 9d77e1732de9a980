#include "fast/known_masks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "fast/visibility.hpp"

namespace attn {

namespace {

std::ptrdiff_t distance(const exact::Sizes& sizes, std::size_t query, std::size_t key) {
  const auto position =
      static_cast<std::ptrdiff_t>(query + sizes.n_k) - static_cast<std::ptrdiff_t>(sizes.n_q);
  return static_cast<std::ptrdiff_t>(key) - position;
}

/// Calls `visit(sample, query, key)` where the mask is true.
template <class Visit>
void for_each_visible(const Array<bool, 3>& mask, const Visit& visit) {
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0; i < mask.shape(1); ++i)
      for (std::size_t j = 0; j < mask.shape(2); ++j)
        if (mask(b, i, j)) visit(b, i, j);
}

/// Lets every query see what the mask lets it see, and as little more as a visibility can.
exact::Visibility narrowest_around(const Array<bool, 3>& mask, const exact::Sizes& sizes) {
  std::ptrdiff_t farthest = 0;
  exact::Visibility visible = {.causal = true, .key_lengths = std::vector<std::size_t>(mask.shape(0))};
  for_each_visible(mask, [&](std::size_t sample, std::size_t query, std::size_t key) {
    const std::ptrdiff_t ahead = distance(sizes, query, key);
    visible.causal = visible.causal && ahead <= 0;
    farthest = std::max(farthest, std::abs(ahead));
    visible.key_lengths[sample] = std::max(visible.key_lengths[sample], key + 1);
  });
  visible.window = static_cast<std::size_t>(farthest);
  return visible;
}

std::size_t pair_count(const exact::Visibility& visible, const exact::Sizes& sizes) {
  std::size_t count = 0;
  for (std::size_t sample = 0; sample < sizes.samples; ++sample)
    for (std::size_t query = 0; query < sizes.n_q; ++query)
      count += fast::visible_keys(sizes, visible, sample, query).size();
  return count;
}

/// How many pairs of some kind there are in any block.
class PairCounts {
 public:
  /// `counts(query, key)` says whether a pair is of the kind.
  template <class Counts>
  PairCounts(std::size_t n_q, std::size_t n_k, const Counts& counts)
      : sums_({n_q + 1, n_k + 1}, std::size_t{0}) {
    for (std::size_t i = 0; i < n_q; ++i)
      for (std::size_t j = 0; j < n_k; ++j)
        sums_(i + 1, j + 1) = sums_(i, j + 1) + sums_(i + 1, j) - sums_(i, j) + (counts(i, j) ? 1 : 0);
  }

  std::size_t in(const fast::Range& queries, const fast::Range& keys) const {
    return sums_(queries.end, keys.end) - sums_(queries.begin, keys.end) - sums_(queries.end, keys.begin) +
           sums_(queries.begin, keys.begin);
  }

 private:
  Array<std::size_t, 2> sums_;  ///< over the queries and keys before
};

std::vector<fast::Range> blocks_of(std::size_t n, std::size_t size) {
  std::vector<fast::Range> blocks;
  for (std::size_t begin = 0; begin < n; begin += size) blocks.push_back({begin, std::min(begin + size, n)});
  return blocks;
}

/// Nothing where a block has pairs that are kept and others that are not.
std::optional<fast::BlockPattern> pattern_of(const PairCounts& kept, const PairCounts& visible,
                                             const exact::Sizes& sizes, std::size_t size) {
  const auto key_blocks = blocks_of(sizes.n_k, size);
  fast::BlockPattern pattern = {.block = size};
  for (const auto& queries : blocks_of(sizes.n_q, size)) {
    auto& listed = pattern.key_blocks.emplace_back();
    for (std::size_t k = 0; k < key_blocks.size(); ++k) {
      const std::size_t pairs = kept.in(queries, key_blocks[k]);
      if (pairs > 0 && pairs < visible.in(queries, key_blocks[k])) return std::nullopt;
      if (pairs > 0) listed.push_back(k);
    }
  }
  return pattern;
}

}  // namespace

std::optional<exact::Visibility> visibility_of(const Array<bool, 3>& mask) {
  const exact::Sizes sizes = {.samples = mask.shape(0), .n_q = mask.shape(1), .n_k = mask.shape(2)};
  const auto visible = narrowest_around(mask, sizes);
  const auto pairs = static_cast<std::size_t>(std::count(mask.begin(), mask.end(), true));
  return pair_count(visible, sizes) == pairs ? std::optional(visible) : std::nullopt;
}

fast::BlockPattern coarsest_pattern(const Array<bool, 2>& mask, bool causal) {
  const exact::Sizes sizes = {.n_q = mask.shape(0), .n_k = mask.shape(1)};
  const auto is_visible = [&](std::size_t i, std::size_t j) { return !causal || distance(sizes, i, j) <= 0; };
  const PairCounts visible(sizes.n_q, sizes.n_k, is_visible);
  const PairCounts kept(sizes.n_q, sizes.n_k,
                        [&](std::size_t i, std::size_t j) { return mask(i, j) && is_visible(i, j); });
  std::size_t size = std::max<std::size_t>({sizes.n_q, sizes.n_k, 1});
  auto pattern = pattern_of(kept, visible, sizes, size);
  while (!pattern) pattern = pattern_of(kept, visible, sizes, --size);
  return *pattern;
}

}  // namespace attn

#include "fast/visibility.hpp"

#include <algorithm>

namespace attn::fast {

Range common(const Range& a, const Range& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query) {
  const auto n_q = static_cast<std::ptrdiff_t>(sizes.n_q), n_k = static_cast<std::ptrdiff_t>(sizes.n_k);
  const std::ptrdiff_t position = static_cast<std::ptrdiff_t>(query) + n_k - n_q;
  const std::size_t farthest = sizes.n_q + sizes.n_k;
  const auto window = static_cast<std::ptrdiff_t>(std::min(visible.window.value_or(farthest), farthest));
  const auto length =
      visible.key_lengths.empty() ? n_k : static_cast<std::ptrdiff_t>(visible.key_lengths[sample]);

  const std::ptrdiff_t last = visible.causal ? position : position + window;
  const std::ptrdiff_t end = std::clamp(last + 1, std::ptrdiff_t{0}, std::min(length, n_k));
  const std::ptrdiff_t begin = std::clamp(position - window, std::ptrdiff_t{0}, end);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, const Range& queries) {
  if (queries.empty()) return {};
  return {visible_keys(sizes, visible, sample, queries.begin).begin,
          visible_keys(sizes, visible, sample, queries.end - 1).end};
}

}  // namespace attn::fast

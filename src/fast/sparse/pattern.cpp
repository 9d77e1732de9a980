#include <algorithm>
#include <stdexcept>
#include <string>

#include "fast/exact/visible.hpp"
#include "fast/sparse/runs.hpp"

namespace attn::block_sparse {

namespace {

void require_positive(const char* function, const char* name, std::size_t length) {
  if (length == 0)
    throw std::invalid_argument(std::string("[") + function + "] a " + name + " of 0 makes no pattern");
}

/// `keeps(query_block, key_block)` says which.
template <class Keeps>
Pattern pattern_of(std::size_t n_q, std::size_t n_k, std::size_t block, const Keeps& keeps) {
  Pattern pattern = {block, std::vector<std::vector<std::size_t>>(blocks(n_q, block))};
  for (std::size_t i = 0; i < pattern.key_blocks.size(); ++i)
    for (std::size_t j = 0; j < blocks(n_k, block); ++j)
      if (keeps(i, j)) pattern.key_blocks[i].push_back(j);
  return pattern;
}

}  // namespace

Pattern strided_pattern(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t local,
                        std::size_t stride) {
  require_positive("strided_pattern", "block", block);
  require_positive("strided_pattern", "stride", stride);
  return pattern_of(n_q, n_k, block, [&](std::size_t i, std::size_t j) {
    const std::size_t distance = i > j ? i - j : j - i;
    return distance < local || distance % stride == 0;
  });
}

Pattern fixed_pattern(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t stride) {
  require_positive("fixed_pattern", "block", block);
  require_positive("fixed_pattern", "stride", stride);
  return pattern_of(n_q, n_k, block,
                    [&](std::size_t i, std::size_t j) { return i == j || j % stride == stride - 1; });
}

std::size_t pairs(const Pattern& pattern, const exact::Sizes& sizes, bool causal) {
  require_fitting(pattern, sizes);
  std::size_t count = 0;
  for (std::size_t query = 0; query < sizes.n_q; ++query) {
    const auto visible = exact::visible_keys(sizes, {.causal = causal}, 0, query);
    for (const auto& run : runs(pattern, query / pattern.block, visible)) count += run.size();
  }
  return count;
}

}  // namespace attn::block_sparse

#include "fast/sparse/runs.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace attn::block_sparse {

namespace {

[[noreturn]] void fail(const std::string& problem) {
  throw std::invalid_argument("[block_sparse] " + problem);
}

}  // namespace

void require_fitting(const Pattern& pattern, const exact::Sizes& sizes) {
  if (pattern.block == 0) fail("a block of 0 makes no pattern");
  const std::size_t query_blocks = blocks(sizes.n_q, pattern.block);
  const std::size_t key_blocks = blocks(sizes.n_k, pattern.block);
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

std::vector<exact::Range> runs(const Pattern& pattern, std::size_t query_block, const exact::Range& visible) {
  std::vector<exact::Range> result;
  for (const std::size_t block : pattern.key_blocks[query_block]) {
    const auto keys = exact::common({block * pattern.block, (block + 1) * pattern.block}, visible);
    if (keys.empty()) continue;
    if (!result.empty() && result.back().end == keys.begin)
      result.back().end = keys.end;
    else
      result.push_back(keys);
  }
  return result;
}

}  // namespace attn::block_sparse

#pragma once

#include <vector>

#include "fast/exact/visible.hpp"
#include "fast/sparse/problem.hpp"

namespace attn::block_sparse {

/// How many blocks a sequence is cut into.
inline std::size_t blocks(std::size_t length, std::size_t block) {
  return length / block + (length % block == 0 ? 0 : 1);
}

/// Throws std::invalid_argument for a pattern that is none for these lengths.
void require_fitting(const Pattern& pattern, const exact::Sizes& sizes);

/// The keys that a block of queries attends to, as far as they are visible. Neighbouring blocks make one run.
std::vector<exact::Range> runs(const Pattern& pattern, std::size_t query_block, const exact::Range& visible);

}  // namespace attn::block_sparse

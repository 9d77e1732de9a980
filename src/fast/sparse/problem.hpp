#pragma once

#include <cstddef>
#include <vector>

#include "fast/exact/problem.hpp"

/// Block-sparse attention: exact attention to the keys of some blocks only, as a row of numbered kernels.
/// Time is proportional to the number of blocks that are kept.
namespace attn::block_sparse {

/// Queries and keys are cut into blocks of `block` (the last ones may be shorter). Each block of queries
/// attends to the blocks of keys that its list names, in rising order.
///
/// The kernels throw std::invalid_argument where there is not a list for each block of queries, and where a
/// list is not in rising order or names a block beyond the last key.
struct Pattern {
  std::size_t block = 64;
  std::vector<std::vector<std::size_t>> key_blocks{};  ///< [query block] lists of key blocks
};

/// The blocks fewer than `local` blocks away and every block a multiple of `stride` blocks away: the strided
/// pattern of Child et al. (2019, section 4.2), in blocks, on both sides. Query blocks stand where their
/// number says. Throws std::invalid_argument where block or stride is 0.
Pattern strided_pattern(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t local,
                        std::size_t stride);

/// The query's own block, and every `stride`-th block, which sums its neighbours up for the others: the fixed
/// pattern of Child et al. (2019, section 4.2), in blocks, on both sides. Throws as above.
Pattern fixed_pattern(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t stride);

/// How many pairs of a query and a key the pattern keeps in a head. If causal, those with a later key do not
/// count: query i stands at position i + n_k − n_q.
std::size_t pairs(const Pattern& pattern, const exact::Sizes& sizes, bool causal);

/// Of the keys that a query sees, a pattern keeps those in the listed blocks. A query to which no key is left
/// gets the output 0.
template <class T>
struct Forward {
  exact::Forward<T> exact;
  const Pattern* pattern = nullptr;
};

}  // namespace attn::block_sparse

#pragma once

#include <vector>

#include "fast/exact/kernels.hpp"
#include "fast/ranks/ring.hpp"

/// An attention of random sizes, spread over ranks, and the same in one process.
template <class T>
struct RandomRing {
  std::size_t ranks;
  attn::fast::RingProblem problem;
  attn::fast::RankBlock<T> whole;  ///< the whole sequence, with results by plain loops

  /// What the ranks begin, …, end − 1 hold, without results.
  std::vector<attn::fast::RankBlock<T>> blocks(const attn::fast::Range& here) const;

  /// The largest difference of a block's results from the rows of the whole, over the largest number there.
  double error_forward(std::size_t rank, const attn::fast::RankBlock<T>& block) const;
  double error_backward(std::size_t rank, const attn::fast::RankBlock<T>& block) const;
};

/// 1 to 40 tokens, so that a rank may hold nothing; heads in groups; causal, a window,
/// padding, also of a whole sample; the same for one seed everywhere.
template <class T>
RandomRing<T> random_ring(unsigned seed, std::size_t ranks);

/// All tokens of a ring in one call of a kernel, forward or backward.
template <class T>
attn::exact::Call<T> call_of(const attn::fast::RingProblem& problem, attn::fast::RankBlock<T>& whole);

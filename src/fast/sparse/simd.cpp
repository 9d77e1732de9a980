// Kernel 2: the tiles and registers of the fastest exact kernel. It visits tiles of keys that a block of
// queries names, and knows of no others: all queries of a block share its keys, so the pattern masks nothing
// inside a block, and blocks that lie side by side are one run of tiles.
#include "fast/sparse/simd.hpp"

#include <algorithm>

#include "fast/exact/attend_block.hpp"
#include "fast/parallel.hpp"
#include "fast/simd/dispatch.hpp"
#include "fast/sparse/runs.hpp"

namespace attn::block_sparse {

namespace {

using exact::Range;

/// Blocks of queries of all heads, each cut into parts where it is larger than the exact kernel takes.
template <class T>
class Parts {
 public:
  explicit Parts(const Forward<T>& problem)
      : problem_(problem.exact), pattern_(*problem.pattern), sizes_(problem.exact.sizes) {
    const std::size_t wanted = blocks(std::min(pattern_.block, sizes_.n_q), kernel_.panel_queries);
    const std::size_t panels = std::clamp<std::size_t>(wanted, 1, exact::max_panels);
    scratch_size_ = kernel_.tile_scratch + panels * kernel_.panel_scratch * (sizes_.d_k + sizes_.d_v);
    queries_ = panels * kernel_.panel_queries;
    per_block_ = blocks(std::min(pattern_.block, sizes_.n_q), queries_);
  }

  std::size_t count() const { return sizes_.samples * sizes_.heads * per_head(); }

  /// Head after head, so that keys and values stay in a cache. Under a causal mask the last queries take
  /// longest, so they come first.
  void attend(std::size_t task) const {
    const std::size_t index = task / per_head(), part = per_head() - 1 - task % per_head();
    const std::size_t query_block = part / per_block_;
    const std::size_t block_end = std::min((query_block + 1) * pattern_.block, sizes_.n_q);
    const std::size_t first = query_block * pattern_.block + part % per_block_ * queries_;
    if (first >= block_end) return;
    const exact::Head<T> head = exact::head_of(problem_, index / sizes_.heads, index % sizes_.heads);
    const Range queries = {first, std::min(first + queries_, block_end)};
    const Range keys = exact::visible_keys(sizes_, problem_.visible, head.sample, queries);
    exact::attend_block(kernel_, problem_, head, queries, runs(pattern_, query_block, keys), scratch_size_);
  }

 private:
  std::size_t per_head() const { return pattern_.key_blocks.size() * per_block_; }

  const exact::Forward<T>& problem_;
  const Pattern& pattern_;
  const exact::Sizes& sizes_;
  exact::BlockKernel<T> kernel_ =
      simd::for_isa_in_use([](auto isa) { return exact::block_kernel<isa(), T>(); });
  std::size_t scratch_size_ = 0;
  std::size_t queries_ = 0;
  std::size_t per_block_ = 0;
};

}  // namespace

template <class T>
void simd_forward(const Forward<T>& problem) {
  require_fitting(*problem.pattern, problem.exact.sizes);
  const Parts<T> parts(problem);
  for_each_task(parts.count(), problem.exact.threads, [&](std::size_t task) { parts.attend(task); });
}

template void simd_forward(const Forward<float>&);
template void simd_forward(const Forward<double>&);

}  // namespace attn::block_sparse

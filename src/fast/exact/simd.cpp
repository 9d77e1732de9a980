// Kernel 4: the tiles of kernel 3, computed in registers. A block of sums stays in registers over a whole
// product, as in a good matrix product, but nothing is packed: the lanes are queries, and keys and values are
// read as they lie in memory. The exponential, a polynomial, happens in registers too, on the way from one
// product to the next, so that the scores of a tile are written once and read once, from the nearest cache.
// Up to eight panels of queries share each tile of keys and values, and threads take blocks of queries of all
// heads.
#include "fast/exact/simd.hpp"

#include <algorithm>

#include "fast/exact/attend_block.hpp"
#include "fast/parallel.hpp"
#include "fast/simd/dispatch.hpp"

namespace attn::exact {

namespace {

/// How a call is cut into blocks of queries, and the kernel for them.
template <class T>
class Blocks {
 public:
  explicit Blocks(const Forward<T>& problem) : problem_(problem) {
    constexpr std::size_t most_bytes = 262144;  // a part of the second-level cache
    const std::size_t row_size = std::max<std::size_t>(problem.sizes.d_k + problem.sizes.d_v, 1);
    const std::size_t panel_size = kernel_.panel_scratch * row_size;
    const std::size_t panels = std::clamp<std::size_t>(most_bytes / sizeof(T) / panel_size, 1, max_panels);
    queries_ = panels * kernel_.panel_queries;
    scratch_size_ = kernel_.tile_scratch + panels * panel_size;
    per_head_ = (problem.sizes.n_q + queries_ - 1) / queries_;
  }

  std::size_t count() const { return problem_.sizes.samples * problem_.sizes.heads * per_head_; }

  /// One head after the other, so that its keys and values stay in the cache. Under a causal mask the last
  /// queries take longest, so they come first.
  void attend(std::size_t task) const {
    const Sizes& sizes = problem_.sizes;
    const std::size_t index = task / per_head_, first = (per_head_ - 1 - task % per_head_) * queries_;
    const Head<T> head = head_of(problem_, index / sizes.heads, index % sizes.heads);
    const Range queries = {first, std::min(first + queries_, sizes.n_q)};
    const Range keys = visible_keys(sizes, problem_.visible, head.sample, queries);
    attend_block(kernel_, problem_, head, queries, {keys}, scratch_size_);
  }

 private:
  const Forward<T>& problem_;
  BlockKernel<T> kernel_ = simd::for_isa_in_use([](auto isa) { return block_kernel<isa(), T>(); });
  std::size_t queries_ = 0;
  std::size_t scratch_size_ = 0;
  std::size_t per_head_ = 0;
};

}  // namespace

template <class T>
void simd_forward(const Forward<T>& problem) {
  const Blocks<T> blocks(problem);
  for_each_task(blocks.count(), problem.threads, [&](std::size_t task) { blocks.attend(task); });
}

template void simd_forward(const Forward<float>&);
template void simd_forward(const Forward<double>&);

}  // namespace attn::exact

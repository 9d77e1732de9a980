// Kernel 4: the tiles of kernel 3, computed in registers. A block of sums stays in registers over a whole
// product, as in BLAS, but nothing is packed: the lanes are queries, and keys and values are read as they lie
// in memory. The exponential, a polynomial, is computed in registers too, between the two products, so that
// the scores of a tile are written once and read once, from the nearest cache. Up to eight panels of queries
// share each tile of keys and values, and threads take blocks of queries of all heads.
//
// Backward, a tile takes five products, and its weights are computed again in registers. Nothing n² is kept:
// a thread holds a block of queries and one tile. It computes a key and value head with all its query heads,
// so that no two threads add to the same gradient and the order of additions is always the same.
#include <algorithm>

#include "fast/exact/heads.hpp"

namespace attn::exact {

namespace {

/// [query] the keys that each sees.
template <class T>
std::vector<Range> visible_to(const Call<T>& problem, const Head<T>& head, const Range& queries) {
  std::vector<Range> visible;
  visible.reserve(queries.size());
  for (std::size_t query = queries.begin; query < queries.end; ++query)
    visible.push_back(visible_keys(problem.sizes, problem.visible, head.sample, query));
  return visible;
}

/// How a call is cut into blocks of queries, and the kernel for them.
template <class T>
class ForwardBlocks {
 public:
  explicit ForwardBlocks(const Call<T>& problem) : problem_(problem) {
    constexpr std::size_t most_bytes = 262144;  // a part of the second-level cache
    const Sizes& sizes = problem.sizes;
    if (problem.pattern != nullptr) {
      require_fitting(*problem.pattern, sizes);
      sharing_ = std::min(problem.pattern->block, sharing_);
    }
    const std::size_t panel_size = kernel_.panel_queries * std::max<std::size_t>(sizes.d_k + sizes.d_v, 1);
    const std::size_t panels =
        std::min(std::clamp<std::size_t>(most_bytes / sizeof(T) / panel_size, 1, max_panels),
                 fast::block_count(sharing_, kernel_.panel_queries));
    queries_ = panels * kernel_.panel_queries;
    scratch_size_ = kernel_.tile_scratch + panels * panel_size;
    per_pattern_block_ = fast::block_count(sharing_, queries_);
    per_head_ = fast::block_count(sizes.n_q, sharing_) * per_pattern_block_;
  }

  std::size_t count() const { return problem_.sizes.samples * problem_.sizes.heads * per_head_; }

  /// One head after the other, so that its keys and values stay in the cache. Under a causal mask the last
  /// queries take longest, so they come first.
  void attend(std::size_t task) const {
    const Sizes& sizes = problem_.sizes;
    const std::size_t index = task / per_head_, part = per_head_ - 1 - task % per_head_;
    const std::size_t block = part / per_pattern_block_,
                      block_end = std::min((block + 1) * sharing_, sizes.n_q);
    const std::size_t first = block * sharing_ + part % per_pattern_block_ * queries_;
    if (first >= block_end) return;
    const Head<T> head = head_of(problem_, index / sizes.heads, index % sizes.heads);
    const Range queries = {first, std::min(first + queries_, block_end)};
    const Range keys = visible_keys(sizes, problem_.visible, head.sample, queries);
    const auto runs =
        problem_.pattern != nullptr ? key_ranges(*problem_.pattern, block, keys) : std::vector{keys};
    const auto visible = visible_to(problem_, head, queries);
    simd::Scratch<T> scratch(scratch_size_);
    kernel_.attend({head.from(first, sizes), queries.size(), sizes.d_k, sizes.d_v, problem_.scale,
                    visible.data(), runs.data(), runs.size()},
                   scratch.data());
  }

 private:
  const Call<T>& problem_;
  ForwardKernel<T> kernel_ = simd::for_isa_in_use([](auto isa) { return forward_kernel<isa(), T>(); });
  std::size_t sharing_ = std::max<std::size_t>(problem_.sizes.n_q, 1);  ///< queries of a block of the pattern
  std::size_t queries_ = 0;
  std::size_t scratch_size_ = 0;
  std::size_t per_pattern_block_ = 0;
  std::size_t per_head_ = 0;
};

/// The gradients of one head, block of queries by block of queries.
template <class T>
void attend_backward(const BackwardKernel<T>& kernel, const Call<T>& problem, const Head<T>& head,
                     T* scratch) {
  const Sizes& sizes = problem.sizes;
  for (const Range& queries : fast::cut(sizes.n_q, kernel.block_queries(sizes.d_k, sizes.d_v))) {
    const auto visible = visible_to(problem, head, queries);
    kernel.attend({head.from(queries.begin, sizes), queries.size(), sizes.d_k, sizes.d_v, problem.scale,
                   visible.data(), nullptr, 0, problem.is_part},
                  scratch);
  }
}

template <class T>
void simd_forward(const Call<T>& problem) {
  const ForwardBlocks<T> blocks(problem);
  for_each_task(blocks.count(), problem.threads, [&](std::size_t task) { blocks.attend(task); });
}

template <class T>
void simd_backward(const Call<T>& problem) {
  const Sizes& sizes = problem.sizes;
  const BackwardKernel<T> kernel = simd::for_isa_in_use([](auto isa) { return backward_kernel<isa(), T>(); });
  for_each_group(problem, [&](const std::vector<Head<T>>& heads) {
    simd::Scratch<T> scratch(kernel.scratch_size(sizes.d_k, sizes.d_v));
    for (const auto& head : heads) attend_backward(kernel, problem, head, scratch.data());
  });
}

}  // namespace

Kernel simd_kernel() {
  return {
      .name = "simd",
      .fits =
          [](const Sizes& sizes) { return std::max(sizes.d_k, sizes.d_v) <= 256; },  // rows fit in a cache
      .limits = "d_k and d_v up to 256",
      .takes_pattern = true,
      .forward = {simd_forward, simd_forward},
      .backward = {simd_backward, simd_backward}};
}

}  // namespace attn::exact

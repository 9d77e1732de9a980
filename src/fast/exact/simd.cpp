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

/// A block of queries of one head, all of the same block of the pattern where there is one.
template <class T>
void attend(const ForwardKernel<T>& kernel, const Call<T>& problem, const Head<T>& head, const Range& queries,
            std::size_t scratch_size) {
  const Sizes& sizes = problem.sizes;
  const auto* const pattern = problem.pattern;
  const Range keys = visible_keys(sizes, problem.visible, head.sample, queries);
  const auto runs = pattern ? key_ranges(*pattern, queries.begin / pattern->block, keys) : std::vector{keys};
  const auto visible = visible_to(problem, head, queries);
  simd::Scratch<T> scratch(scratch_size);
  kernel.attend({head.from(queries.begin, sizes), queries.size(), sizes.d_k, sizes.d_v, problem.scale,
                 visible.data(), runs.data(), runs.size()},
                scratch.data());
}

/// One head after the other, so that its keys and values stay in the cache. Under a causal mask the last
/// queries take longest, so they come first.
template <class T>
void simd_forward(const Call<T>& problem) {
  constexpr std::size_t most_bytes = 262144;  // a part of the second-level cache
  const Sizes& sizes = problem.sizes;
  const auto kernel = simd::for_isa_in_use([](auto isa) { return forward_kernel<isa(), T>(); });
  std::size_t sharing = std::max<std::size_t>(sizes.n_q, 1);  // queries of a block of the pattern
  if (problem.pattern != nullptr) {
    require_fitting(*problem.pattern, sizes);
    sharing = std::min(problem.pattern->block, sharing);
  }
  const std::size_t panel_size = kernel.panel_queries * std::max<std::size_t>(sizes.d_k + sizes.d_v, 1);
  const std::size_t panels =
      std::min(std::clamp<std::size_t>(most_bytes / sizeof(T) / panel_size, 1, max_panels),
               fast::block_count(sharing, kernel.panel_queries));
  std::vector<Range> blocks;
  for (const Range& shared : fast::cut(sizes.n_q, sharing))
    for (const Range& part : fast::cut(shared.size(), panels * kernel.panel_queries))
      blocks.push_back({shared.begin + part.begin, shared.begin + part.end});
  for_each_head(problem, blocks.size(), [&](const Head<T>& head, std::size_t part) {
    attend(kernel, problem, head, blocks[blocks.size() - 1 - part],
           kernel.tile_scratch + panels * panel_size);
  });
}

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

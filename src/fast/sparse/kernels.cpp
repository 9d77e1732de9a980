#include "fast/sparse/kernels.hpp"

#include <algorithm>
#include <numeric>

#include "fast/exact/blocks.hpp"
#include "fast/exact/softmax.hpp"

namespace attn::block_sparse {

namespace {

using fast::block_count;
using fast::BlockPattern;
using fast::key_ranges;
using fast::Range;
using fast::Sizes;

template <class T>
void attend(const exact::Forward<T>& problem, const exact::Head<T>& head, std::size_t query,
            const std::vector<Range>& ranges) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  const T* q = head.query + query * d_k;
  std::vector<T> weights;
  for (const auto& keys : ranges)
    for (std::size_t key = keys.begin; key < keys.end; ++key)
      weights.push_back(problem.scale * std::inner_product(q, q + d_k, head.key + key * d_k, T{0}));
  const T log_sum_exp = exact::softmax(weights.data(), weights.size());
  if (head.log_sum_exp != nullptr) head.log_sum_exp[query] = log_sum_exp;

  T* output = head.output + query * d_v;
  std::fill_n(output, d_v, T{0});
  const T* weight = weights.data();
  for (const auto& keys : ranges)
    for (std::size_t key = keys.begin; key < keys.end; ++key, ++weight)
      for (std::size_t c = 0; c < d_v; ++c) output[c] += *weight * head.value[key * d_v + c];
}

/// Kernel 1: the formula as loops, one query after the other, over the keys in its blocks.
template <class T>
void plain_forward(const Forward<T>& problem) {
  const Sizes& sizes = problem.exact.sizes;
  require_fitting(*problem.pattern, sizes);
  for_each_task(sizes.samples * sizes.heads, problem.exact.threads, [&](std::size_t task) {
    const auto head = exact::head_of(problem.exact, task / sizes.heads, task % sizes.heads);
    for (std::size_t query = 0; query < sizes.n_q; ++query) {
      const auto visible = visible_keys(sizes, problem.exact.visible, head.sample, query);
      attend(problem.exact, head, query,
             key_ranges(*problem.pattern, query / problem.pattern->block, visible));
    }
  });
}

/// Blocks of queries of all heads, each cut into parts where it is larger than the exact kernel takes.
template <class T>
class Parts {
 public:
  explicit Parts(const Forward<T>& problem)
      : problem_(problem.exact), pattern_(*problem.pattern), sizes_(problem.exact.sizes) {
    const std::size_t block = std::min(pattern_.block, sizes_.n_q);
    const std::size_t panels =
        std::clamp<std::size_t>(block_count(block, kernel_.panel_queries), 1, exact::max_panels);
    scratch_size_ = kernel_.tile_scratch + panels * kernel_.panel_scratch * (sizes_.d_k + sizes_.d_v);
    queries_ = panels * kernel_.panel_queries;
    per_block_ = block_count(block, queries_);
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
    const Range keys = visible_keys(sizes_, problem_.visible, head.sample, queries);
    exact::attend_block(kernel_, problem_, head, queries, key_ranges(pattern_, query_block, keys),
                        scratch_size_);
  }

 private:
  std::size_t per_head() const { return pattern_.key_blocks.size() * per_block_; }

  const exact::Forward<T>& problem_;
  const BlockPattern& pattern_;
  const Sizes& sizes_;
  exact::ForwardKernel<T> kernel_ =
      simd::for_isa_in_use([](auto isa) { return exact::forward_kernel<isa(), T>(); });
  std::size_t scratch_size_ = 0;
  std::size_t queries_ = 0;
  std::size_t per_block_ = 0;
};

/// Kernel 2: the tiles and registers of the fastest exact kernel, over the listed blocks only. All queries of
/// a block share its keys, so the pattern masks nothing inside a block, and adjacent blocks are one range of
/// tiles.
template <class T>
void simd_forward(const Forward<T>& problem) {
  require_fitting(*problem.pattern, problem.exact.sizes);
  const Parts<T> parts(problem);
  for_each_task(parts.count(), problem.exact.threads, [&](std::size_t task) { parts.attend(task); });
}

bool always(const Sizes&) {
  return true;
}

bool rows_fit_in_cache(const Sizes& sizes) {
  return std::max(sizes.d_k, sizes.d_v) <= 256;
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {
      {"plain", always, "", plain_forward, plain_forward},
      {"simd", rows_fit_in_cache, "d_k and d_v up to 256", simd_forward, simd_forward},
  };
  return table;
}

}  // namespace attn::block_sparse

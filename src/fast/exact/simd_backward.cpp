// Kernel 4 on the way back. A tile takes five products, and its weights are computed again in registers.
// Nothing n² is kept: a thread holds a block of queries, both ways round, and one tile. It takes a key and
// value head with all the queries of it, so that no two threads add to the same gradient and the order of
// additions is always the same.
#include <algorithm>

#include "fast/exact/gradient_block.hpp"
#include "fast/exact/group.hpp"
#include "fast/exact/simd.hpp"
#include "fast/exact/visible.hpp"
#include "fast/simd/dispatch.hpp"
#include "fast/simd/scratch.hpp"

namespace attn::exact {

namespace {

/// One query block after the other of one head.
template <class T>
void attend_backward(const GradientKernel<T>& kernel, const Forward<T>& problem, const BackwardHead<T>& head,
                     T* scratch) {
  const Sizes& sizes = problem.sizes;
  const std::size_t d_k = sizes.d_k, d_v = sizes.d_v, block_queries = kernel.block_queries(d_k, d_v);
  std::vector<Range> visible(block_queries);
  for (std::size_t first = 0; first < sizes.n_q; first += block_queries) {
    const std::size_t queries = std::min(block_queries, sizes.n_q - first);
    for (std::size_t i = 0; i < queries; ++i)
      visible[i] = visible_keys(sizes, problem.visible, head.forward.sample, first + i);
    kernel.attend({.queries = queries,
                   .d_k = d_k,
                   .d_v = d_v,
                   .scale = problem.scale,
                   .visible = visible.data(),
                   .query = head.forward.query + first * d_k,
                   .key = head.forward.key,
                   .value = head.forward.value,
                   .output = head.forward.output + first * d_v,
                   .log_sum_exp = head.forward.log_sum_exp + first,
                   .d_output = head.d_output + first * d_v,
                   .d_query = head.d_query + first * d_k,
                   .d_key = head.d_key,
                   .d_value = head.d_value},
                  scratch);
  }
}

}  // namespace

template <class T>
void simd_backward(const Backward<T>& problem) {
  const Sizes& sizes = problem.forward.sizes;
  const GradientKernel<T> kernel = simd::for_isa_in_use([](auto isa) { return gradient_kernel<isa(), T>(); });
  for_each_group(problem, [&](const std::vector<BackwardHead<T>>& heads) {
    simd::Scratch<T> scratch(kernel.scratch_size(sizes.d_k, sizes.d_v));
    for (const auto& head : heads) attend_backward(kernel, problem.forward, head, scratch.data());
  });
}

template void simd_backward(const Backward<float>&);
template void simd_backward(const Backward<double>&);

}  // namespace attn::exact

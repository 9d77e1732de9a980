#pragma once

#include <algorithm>
#include <vector>

#include "fast/exact/head.hpp"
#include "fast/parallel.hpp"

namespace attn::exact {

/// Calls `work(heads)` once for every key and value head, with the query heads that read it: who has them all
/// may sum the gradients of key and value without asking anyone. All gradients are zero before.
template <class T, class Work>
void for_each_group(const Backward<T>& problem, const Work& work) {
  const Sizes& sizes = problem.forward.sizes;
  const std::size_t group = sizes.heads / sizes.kv_heads;
  for_each_task(sizes.samples * sizes.kv_heads, problem.forward.threads, [&](std::size_t task) {
    std::vector<BackwardHead<T>> heads;
    for (std::size_t member = 0; member < group; ++member)
      heads.push_back(head_of(problem, task / sizes.kv_heads, task % sizes.kv_heads * group + member));
    for (const auto& head : heads) std::fill_n(head.d_query, sizes.n_q * sizes.d_k, T{0});
    std::fill_n(heads.front().d_key, sizes.n_k * sizes.d_k, T{0});
    std::fill_n(heads.front().d_value, sizes.n_k * sizes.d_v, T{0});
    work(heads);
  });
}

}  // namespace attn::exact

#pragma once

#include <vector>

#include "fast/exact/head.hpp"
#include "fast/exact/query_block.hpp"
#include "fast/simd/scratch.hpp"

namespace attn::exact {

/// Neighbouring queries of a head attend to those keys in `runs` that they see. `scratch_size` is what the
/// kernel needs for so many queries, in numbers.
template <class T>
void attend_block(const BlockKernel<T>& kernel, const Forward<T>& problem, const Head<T>& head,
                  const Range& queries, const std::vector<Range>& runs, std::size_t scratch_size) {
  const Sizes& sizes = problem.sizes;
  std::vector<Range> visible;
  visible.reserve(queries.size());
  for (std::size_t query = queries.begin; query < queries.end; ++query)
    visible.push_back(visible_keys(sizes, problem.visible, head.sample, query));
  simd::Scratch<T> scratch(scratch_size);
  kernel.attend({.queries = queries.size(),
                 .d_k = sizes.d_k,
                 .d_v = sizes.d_v,
                 .scale = problem.scale,
                 .runs = runs.data(),
                 .run_count = runs.size(),
                 .visible = visible.data(),
                 .query = head.query + queries.begin * sizes.d_k,
                 .key = head.key,
                 .value = head.value,
                 .output = head.output + queries.begin * sizes.d_v,
                 .log_sum_exp = head.log_sum_exp == nullptr ? nullptr : head.log_sum_exp + queries.begin},
                scratch.data());
}

}  // namespace attn::exact

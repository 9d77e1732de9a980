#pragma once

#include "fast/exact/query_panel.hpp"
#include "fast/simd/flush_denormals.hpp"

namespace attn::exact {

template <class T, class Arch>
void attend(const QueryBlock<T>& block, T* scratch) {
  using Panel = QueryPanel<T, Arch>;
  const simd::FlushDenormals flush;
  T* matrices = scratch + Panel::width * Panel::tile_keys;
  Panel panels[max_panels];
  std::size_t count = 0;
  for (std::size_t first = 0; first < block.queries; first += Panel::width) {
    panels[count++].begin(block, first, matrices, scratch);
    matrices += Panel::width * (block.d_k + block.d_v);
  }
  for (std::size_t r = 0; r < block.run_count; ++r)
    for (std::size_t key = block.runs[r].begin; key < block.runs[r].end; key += Panel::tile_keys)
      for (std::size_t p = 0; p < count; ++p)
        panels[p].visit({key, std::min(key + Panel::tile_keys, block.runs[r].end)});
  for (std::size_t p = 0; p < count; ++p) panels[p].finish();
}

template <simd::Isa isa, class T>
BlockKernel<T> block_kernel() {
  using Panel = QueryPanel<T, simd::Architecture<isa>>;
  return {.panel_queries = Panel::width,
          .panel_scratch = Panel::width,
          .tile_scratch = Panel::width * Panel::tile_keys,
          .attend = &attend<T, simd::Architecture<isa>>};
}

}  // namespace attn::exact

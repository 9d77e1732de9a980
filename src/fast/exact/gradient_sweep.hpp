#pragma once

#include <array>
#include <utility>

#include "fast/exact/gradient_panel.hpp"
#include "fast/simd/product.hpp"

namespace attn::exact {

/// A block of queries on its way back through the tiles of keys that it sees. Panels of queries turn each
/// tile into weights and gradients of scores, with a query in each lane. The other three products, of those
/// with d_output, the queries and the keys, have a column of the result in each lane.
template <class T, class Arch>
class GradientSweep {
  using Panel = GradientPanel<T, Arch>;
  static constexpr std::size_t rows = simd::Block<Arch>::rows;
  static constexpr std::size_t tile_keys = simd::Block<Arch>::tile;
  static constexpr std::size_t max_panels = std::max(1024 / sizeof(T) / Panel::width, std::size_t{1});

 public:
  /// As many as leave room for a tile and the operands of a product in the second-level cache.
  static std::size_t block_queries(std::size_t d_k, std::size_t d_v) {
    constexpr std::size_t operand_bytes = 65536;
    const std::size_t queries = operand_bytes / sizeof(T) / std::max({d_k, d_v, std::size_t{1}});
    return std::clamp(queries / Panel::width, std::size_t{1}, max_panels) * Panel::width;
  }

  static std::size_t scratch_size(std::size_t d_k, std::size_t d_v) {
    const std::size_t whole_d_k = simd::padded<T, Arch>(d_k), whole_d_v = simd::padded<T, Arch>(d_v);
    const std::size_t queries = block_queries(d_k, d_v);
    return queries * (d_k + d_v + 2 * whole_d_k + whole_d_v) +
           tile_keys * (whole_d_k + 2 * tile_stride(queries));
  }

  GradientSweep(const GradientBlock<T>& block, T* scratch)
      : block_(block),
        whole_d_k_(simd::padded<T, Arch>(block.d_k)),
        whole_d_v_(simd::padded<T, Arch>(block.d_v)) {
    const std::size_t queries = block_queries(block.d_k, block.d_v);
    stride_ = tile_stride(queries);
    for (const auto& [part, size] : {std::pair{&query_columns_, queries * block.d_k},
                                     {&d_output_columns_, queries * block.d_v},
                                     {&query_rows_, queries * whole_d_k_},
                                     {&d_output_rows_, queries * whole_d_v_},
                                     {&d_query_, queries * whole_d_k_},
                                     {&key_rows_, tile_keys * whole_d_k_},
                                     {&weights_, tile_keys * stride_},
                                     {&d_scores_, tile_keys * stride_}}) {
      *part = scratch;
      scratch += size;
    }
  }

  void run() {
    load();
    normalise();
    for_each_tile([&](const GradientTile<T>& tile) {
      if (!all_see(tile.keys)) hide_all();
      for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].visit(tile);
      add_to_keys_and_values(tile.keys);
      add_to_queries(tile.keys);
    });
    store();
  }

 private:
  /// No power of two: rows that far apart would compete for the same lines of the cache.
  static constexpr std::size_t tile_stride(std::size_t queries) { return queries + 64 / sizeof(T); }

  void load() {
    const std::size_t d_k = block_.d_k, d_v = block_.d_v, queries = block_.queries;
    for (std::size_t first = 0; first < queries; first += Panel::width)
      panels_[panel_count_++].begin(block_, first, query_columns_ + first * d_k,
                                    d_output_columns_ + first * d_v);
    simd::copy_padded<T, Arch>({block_.query, d_k, queries, d_k}, block_.scale, query_rows_);
    simd::copy_padded<T, Arch>({block_.d_output, d_v, queries, d_v}, T{1}, d_output_rows_);
    std::fill_n(d_query_, queries * whole_d_k_, T{0});
  }

  void normalise() {
    const auto end = panels_.begin() + static_cast<std::ptrdiff_t>(panel_count_);
    if (std::none_of(panels_.begin(), end, [](const Panel& panel) { return panel.is_uncertain(); })) return;
    for_each_tile([&](const GradientTile<T>& tile) {
      for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].sum_weights(tile);
    });
    for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].normalise();
  }

  template <class Work>
  ATTN_INLINE void for_each_tile(const Work& work) const {
    const Range keys = seen_by({0, block_.queries});
    for (std::size_t begin = keys.begin; begin < keys.end; begin += tile_keys)
      work(GradientTile<T>{{begin, std::min(begin + tile_keys, keys.end)}, weights_, d_scores_, stride_});
  }

  /// The run of keys outside which none of these queries sees any.
  Range seen_by(const Range& queries) const {
    return {block_.visible[queries.begin].begin, block_.visible[queries.end - 1].end};
  }

  bool all_see(const Range& keys) const {
    return block_.visible[block_.queries - 1].begin <= keys.begin && keys.end <= block_.visible[0].end;
  }

  void hide_all() {
    std::fill_n(weights_, tile_keys * stride_, T{0});
    std::fill_n(d_scores_, tile_keys * stride_, T{0});
  }

  void add_to_keys_and_values(const Range& tile) {
    const std::size_t d_k = block_.d_k, d_v = block_.d_v;
    Range seeing;
    for (std::size_t key = tile.begin; key < tile.end; key += rows) {
      const Range keys = {key, std::min(key + rows, tile.end)};
      while (seeing.begin < block_.queries && block_.visible[seeing.begin].end <= keys.begin) ++seeing.begin;
      while (seeing.end < block_.queries && block_.visible[seeing.end].begin < keys.end) ++seeing.end;
      if (seeing.end <= seeing.begin) continue;
      const std::size_t corner = (key - tile.begin) * stride_ + seeing.begin;
      simd::add_product<T, Arch>({block_.d_value + key * d_v, d_v, keys.size(), d_v},
                                 {weights_ + corner, stride_, 1}, d_output_rows_ + seeing.begin * whole_d_v_,
                                 seeing.size());
      simd::add_product<T, Arch>({block_.d_key + key * d_k, d_k, keys.size(), d_k},
                                 {d_scores_ + corner, stride_, 1}, query_rows_ + seeing.begin * whole_d_k_,
                                 seeing.size());
    }
  }

  void add_to_queries(const Range& tile) {
    simd::copy_padded<T, Arch>({block_.key + tile.begin * block_.d_k, block_.d_k, tile.size(), block_.d_k},
                               block_.scale, key_rows_);
    for (std::size_t i = 0; i < block_.queries; i += rows) {
      const Range queries = {i, std::min(i + rows, block_.queries)};
      const Range keys = common(seen_by(queries), tile);
      if (keys.empty()) continue;
      const std::size_t row = keys.begin - tile.begin;
      simd::add_product<T, Arch>({d_query_ + i * whole_d_k_, whole_d_k_, queries.size(), whole_d_k_},
                                 {d_scores_ + row * stride_ + i, 1, stride_}, key_rows_ + row * whole_d_k_,
                                 keys.size());
    }
  }

  void store() const {
    const std::size_t d_k = block_.d_k;
    for (std::size_t i = 0; i < block_.queries; ++i)
      std::copy_n(d_query_ + i * whole_d_k_, d_k, block_.d_query + i * d_k);
  }

  const GradientBlock<T>& block_;
  std::size_t whole_d_k_;  ///< padded to whole registers
  std::size_t whole_d_v_;
  std::size_t stride_ = 0;
  T* query_columns_;     ///< [panel×d_k×lane]
  T* d_output_columns_;  ///< [panel×d_v×lane]
  T* query_rows_;        ///< [query×d_k], times the scale
  T* d_output_rows_;     ///< [query×d_v]
  T* d_query_;           ///< [query×d_k]
  T* key_rows_;          ///< [key×d_k] of a tile, times the scale
  T* weights_;           ///< [key×query] of a tile
  T* d_scores_;          ///< [key×query] of a tile
  std::size_t panel_count_ = 0;
  std::array<Panel, max_panels> panels_;
};

}  // namespace attn::exact

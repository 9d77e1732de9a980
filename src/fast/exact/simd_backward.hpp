#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "fast/exact/simd_forward.hpp"

namespace attn::exact {

/// A tile of weights w and one of gradients of scores ds, [key×query].
template <class T>
struct BackwardTile {
  Range keys;
  T* weights;
  T* d_scores;
  std::size_t stride;
};

/// The backward pass of a panel. It computes the two products that belong to one query: q·k, from which the
/// weights follow, and do·v, the gradients of the weights.
template <class T, class Arch>
class BackwardPanel : public Panel<T, Arch> {
  using Base = Panel<T, Arch>;
  using Base::block_, Base::first_, Base::queries_, Base::visibility_, Base::lanes;
  using typename Base::Vector;

 public:
  using Base::width;

  /// The queries of a block from `first` on; `query` and `d_output` have room for width · d_k and width ·
  /// d_v.
  void begin(const QueryBlock<T>& block, std::size_t first, T* query, T* d_output) {
    const std::size_t d_v = block.d_v;
    this->load(block, first, query);
    d_output_ = d_output;
    simd::copy_transposed<T, Arch>({block.d_output + first * d_v, d_v, queries_, d_v}, T{1}, d_output, width);
    load_score_start();
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) load_d_weight_start(v);
    std::fill_n(weight_sum_, width, T{0});
    std::fill_n(normaliser_, width, T{1});
  }

  /// The weights that these queries have for a tile, and their gradients of scores. Keys that no
  /// lane of a register sees are skipped.
  void visit(const BackwardTile<T>& tile) {
    this->for_each_run(tile.keys, [&](const PanelRun& run) {
      weigh_run(tile, run);
      this->for_each_part(run,
                          [&](const PanelRun& part, auto count) { differentiate_run<count()>(tile, part); });
    });
  }

  /// Whether some log-sum-exp is so large that its rounding matters: the error multiplies all weights of a
  /// query by the same factor.
  bool has_large_log_sum_exp() const {
    return std::any_of(score_start_, score_start_ + queries_, [](T start) { return std::abs(start) > 32; });
  }

  /// Adds up the weights of a tile. The sum over all tiles is the divisor of the weights.
  void sum_weights(const BackwardTile<T>& tile) {
    this->for_each_run(tile.keys, [&](const PanelRun& run) {
      weigh_run(tile, run);
      for (std::size_t key = run.keys.begin; key < run.keys.end; ++key)
        for (std::size_t i = 0; i < run.vectors * lanes; ++i)
          weight_sum_[run.first_vector * lanes + i] += corner(tile.weights, tile, run, key)[i];
    });
  }

  void normalise() {
    for (std::size_t i = 0; i < width; ++i) normaliser_[i] = weight_sum_[i] > 0 ? 1 / weight_sum_[i] : T{1};
  }

 private:
  /// The start of the sums of products: scores are then relative to the log-sum-exp, in units of log₂ e.
  void load_score_start() {
    for (std::size_t i = 0; i < width; ++i) {
      const bool sees_some = i < queries_ && !block_->visible[first_ + i].empty();
      const double log_sum_exp = sees_some ? static_cast<double>(block_->log_sum_exp[first_ + i]) : 0.0;
      score_start_[i] = static_cast<T>(-log_sum_exp * std::numbers::log2e);
    }
  }

  /// −do·o of the queries in a register, the start of the sums that give dw − do·o.
  void load_d_weight_start(std::size_t vector) {
    const std::size_t d_v = block_->d_v, first = vector * lanes, row = (first_ + first) * d_v;
    simd::Square<T, Arch> sums = {}, output, d_output;
    for (std::size_t c = 0; c < d_v; c += lanes) {
      output.load({block_->output + row + c, d_v, queries_ - first, d_v - c});
      d_output.load({block_->d_output + row + c, d_v, queries_ - first, d_v - c});
#pragma GCC unroll 16
      for (std::size_t r = 0; r < lanes; ++r)
        sums.rows[r] = simd::multiply_add(output.rows[r], d_output.rows[r], sums.rows[r]);
    }
    sums.transpose();
    Vector sum(T{0});
    for (const Vector& row_sum : sums.rows) sum = sum - row_sum;
    sum.store_aligned(d_weight_start_ + first);
  }

  void weigh_run(const BackwardTile<T>& tile, const PanelRun& run) {
    this->for_each_part(run, [&](const PanelRun& part, auto count) { weigh_run<count()>(tile, part); });
  }

  template <std::size_t Vectors>
  [[gnu::noinline]] void weigh_run(const BackwardTile<T>& tile, const PanelRun& run) {
    this->template for_each_block<Vectors>(
        run, [&](std::size_t key, auto keys) { weigh<keys(), Vectors>(tile, run, key); });
  }

  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void weigh(const BackwardTile<T>& tile, const PanelRun& run, std::size_t key) {
    const std::size_t first_lane = run.first_vector * lanes;
    Vector scores[Keys][Vectors];
    this->score(scores, score_start_, run, key);
    T* weights = corner(tile.weights, tile, run, key);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        const Vector normaliser = Vector::load_aligned(normaliser_ + first_lane + v * lanes);
        (simd::power_of_2(scores[k][v]) * normaliser).store_aligned(weights + k * tile.stride + v * lanes);
      }
  }

  template <std::size_t Vectors>
  [[gnu::noinline]] void differentiate_run(const BackwardTile<T>& tile, const PanelRun& run) {
    this->template for_each_block<Vectors>(
        run, [&](std::size_t key, auto keys) { differentiate<keys(), Vectors>(tile, run, key); });
  }

  /// ds = w (dw − do·o)
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void differentiate(const BackwardTile<T>& tile, const PanelRun& run, std::size_t key) {
    const std::size_t d_v = block_->d_v, first_lane = run.first_vector * lanes;
    Vector d_weights[Keys][Vectors];
    simd::set_rows(d_weights, d_weight_start_ + first_lane);
    simd::accumulate(d_weights, d_output_ + first_lane, width,
                     simd::Scalars<T>{block_->value + key * d_v, d_v, 1}, d_v);
    const T* weights = corner(tile.weights, tile, run, key);
    T* d_scores = corner(tile.d_scores, tile, run, key);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        const std::size_t at = k * tile.stride + v * lanes;
        (Vector::load_aligned(weights + at) * d_weights[k][v]).store_aligned(d_scores + at);
      }
  }

  /// The address of a key's first number in the registers of a run, in a matrix of a tile.
  ATTN_INLINE T* corner(T* matrix, const BackwardTile<T>& tile, const PanelRun& run, std::size_t key) const {
    return matrix + (key - tile.keys.begin) * tile.stride + first_ + run.first_vector * lanes;
  }

  const T* d_output_ = nullptr;  ///< [d_v×lane]
  alignas(64) T score_start_[width];
  alignas(64) T d_weight_start_[width];
  alignas(64) T weight_sum_[width];
  alignas(64) T normaliser_[width];  ///< weights are multiplied by it
};

/// The backward pass of a block of queries over the tiles of keys that it sees. Panels of queries compute the
/// weights and the gradients of scores of each tile, with one query in each lane. The other three products,
/// of these with d_output, the queries and the keys, have one column of the result in each lane.
template <class T, class Arch>
class BackwardPass {
  using Panel = BackwardPanel<T, Arch>;
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

  BackwardPass(const QueryBlock<T>& block, T* scratch)
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
    for_each_tile([&](const BackwardTile<T>& tile) {
      if (!all_see(tile.keys)) hide_all();
      for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].visit(tile);
      add_to_keys_and_values(tile.keys);
      add_to_queries(tile.keys);
    });
    store();
  }

 private:
  /// Not a power of two: rows that far apart would share the same lines of the cache.
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
    if (block_.is_part ||
        std::none_of(panels_.begin(), end, [](const Panel& panel) { return panel.has_large_log_sum_exp(); }))
      return;
    for_each_tile([&](const BackwardTile<T>& tile) {
      for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].sum_weights(tile);
    });
    for (std::size_t p = 0; p < panel_count_; ++p) panels_[p].normalise();
  }

  template <class Work>
  ATTN_INLINE void for_each_tile(const Work& work) const {
    const Range keys = seen_by({0, block_.queries});
    for (std::size_t begin = keys.begin; begin < keys.end; begin += tile_keys)
      work(BackwardTile<T>{{begin, std::min(begin + tile_keys, keys.end)}, weights_, d_scores_, stride_});
  }

  /// The smallest range of keys that contains all keys that these queries see.
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
      const Range keys = fast::common(seen_by(queries), tile);
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

  const QueryBlock<T>& block_;
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

template <class T, class Arch>
void attend_backward(const QueryBlock<T>& block, T* scratch) {
  const simd::FlushDenormals flush;
  BackwardPass<T, Arch>(block, scratch).run();
}

template <simd::Isa isa, class T>
BackwardKernel<T> backward_kernel() {
  using Pass = BackwardPass<T, simd::Architecture<isa>>;
  return {&Pass::block_queries, &Pass::scratch_size, &attend_backward<T, simd::Architecture<isa>>};
}

}  // namespace attn::exact

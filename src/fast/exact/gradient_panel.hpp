#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fast/exact/gradient_block.hpp"
#include "fast/exact/lane_visibility.hpp"
#include "fast/simd/accumulate.hpp"
#include "fast/simd/constant.hpp"
#include "fast/simd/copy.hpp"
#include "fast/simd/exp2.hpp"

namespace attn::exact {

/// A tile of weights w and one of gradients of scores ds, [key×query].
template <class T>
struct GradientTile {
  Range keys;
  T* weights;
  T* d_scores;
  std::size_t stride;
};

/// As many queries as a few registers have lanes, on their way back through the keys, as QueryPanel is on the
/// way there. It computes the two products that a query takes part in by itself: q·k, of which weights are
/// made, and do·v, the gradients of the weights.
template <class T, class Arch>
class GradientPanel {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t vectors = simd::Block<Arch>::vectors;

 public:
  static constexpr std::size_t width = vectors * lanes;  ///< queries

  /// The queries of a block from `first` on; `query` and `d_output` have room for width · d_k and width ·
  /// d_v.
  void begin(const GradientBlock<T>& block, std::size_t first, T* query, T* d_output) {
    const std::size_t d_k = block.d_k, d_v = block.d_v;
    block_ = &block;
    first_ = first;
    queries_ = std::min(width, block.queries - first);
    query_ = query;
    d_output_ = d_output;
    const T scale = static_cast<T>(static_cast<double>(block.scale) * std::numbers::log2e);
    simd::copy_transposed<T, Arch>({block.query + first * d_k, d_k, queries_, d_k}, scale, query, width);
    simd::copy_transposed<T, Arch>({block.d_output + first * d_v, d_v, queries_, d_v}, T{1}, d_output, width);
    visibility_.load(block.visible + first, queries_);
    load_score_start();
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) load_d_weight_start(v);
    std::fill_n(weight_sum_, width, T{0});
    std::fill_n(normaliser_, width, T{1});
  }

  /// The weights that these queries have for a tile, and their gradients of scores. What no lane of a
  /// register sees is left as it is.
  void visit(const GradientTile<T>& tile) {
    for_each_run(tile.keys, [&](const PanelRun& run) {
      weigh_run(tile, run);
      simd::with_constant<vectors>(run.vectors, [&](auto count) { differentiate_run<count()>(tile, run); });
    });
  }

  /// Whether some log-sum-exp is so large that its rounding matters: it makes all weights of a query wrong by
  /// the same factor.
  bool is_uncertain() const {
    return std::any_of(score_start_, score_start_ + queries_, [](T start) { return std::abs(start) > 32; });
  }

  /// Sums the weights for a tile: over all tiles, what they are to be divided by.
  void sum_weights(const GradientTile<T>& tile) {
    for_each_run(tile.keys, [&](const PanelRun& run) {
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
  template <class Work>
  ATTN_INLINE void for_each_run(Range keys, const Work& work) const {
    while (keys.begin < keys.end) {
      const PanelRun run = visibility_.run_from(keys);
      if (run.vectors > 0) work(run);
      keys.begin = run.keys.end;
    }
  }

  /// Where the sums of products begin, so that scores come out relative to the log-sum-exp, in units of log₂
  /// e.
  void load_score_start() {
    for (std::size_t i = 0; i < width; ++i) {
      const bool sees_some = i < queries_ && !block_->visible[first_ + i].empty();
      const double log_sum_exp = sees_some ? static_cast<double>(block_->log_sum_exp[first_ + i]) : 0.0;
      score_start_[i] = static_cast<T>(-log_sum_exp * std::numbers::log2e);
    }
  }

  /// −do·o of the queries in a register: dw − do·o comes out.
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

  void weigh_run(const GradientTile<T>& tile, const PanelRun& run) {
    simd::with_constant<vectors>(run.vectors, [&](auto count) {
      if (run.masked)
        weigh_run<count(), true>(tile, run);
      else
        weigh_run<count(), false>(tile, run);
    });
  }

  template <std::size_t Vectors, bool Masked>
  [[gnu::noinline]] void weigh_run(const GradientTile<T>& tile, const PanelRun& run) {
    simd::in_blocks<simd::Block<Arch>::rows_of(Vectors)>(
        run.keys.begin, run.keys.end,
        [&](std::size_t key, auto keys) { weigh<keys(), Vectors, Masked>(tile, run, key); });
  }

  template <std::size_t Keys, std::size_t Vectors, bool Masked>
  ATTN_INLINE void weigh(const GradientTile<T>& tile, const PanelRun& run, std::size_t key) {
    const std::size_t d_k = block_->d_k, first_lane = run.first_vector * lanes;
    Vector scores[Keys][Vectors];
    start(scores, score_start_ + first_lane);
    simd::accumulate(scores, query_ + first_lane, width, simd::Scalars<T>{block_->key + key * d_k, d_k, 1},
                     d_k);
    if constexpr (Masked) visibility_.hide(scores, run.first_vector, key);
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
  [[gnu::noinline]] void differentiate_run(const GradientTile<T>& tile, const PanelRun& run) {
    simd::in_blocks<simd::Block<Arch>::rows_of(Vectors)>(
        run.keys.begin, run.keys.end,
        [&](std::size_t key, auto keys) { differentiate<keys(), Vectors>(tile, run, key); });
  }

  /// ds = w (dw − do·o)
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void differentiate(const GradientTile<T>& tile, const PanelRun& run, std::size_t key) {
    const std::size_t d_v = block_->d_v, first_lane = run.first_vector * lanes;
    Vector d_weights[Keys][Vectors];
    start(d_weights, d_weight_start_ + first_lane);
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

  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE static void start(Vector (&sums)[Keys][Vectors], const T* from) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      const Vector vector = Vector::load_aligned(from + v * lanes);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < Keys; ++k) sums[k][v] = vector;
    }
  }

  /// Where the numbers of a key and the registers of a run begin in a matrix of a tile.
  ATTN_INLINE T* corner(T* matrix, const GradientTile<T>& tile, const PanelRun& run, std::size_t key) const {
    return matrix + (key - tile.keys.begin) * tile.stride + first_ + run.first_vector * lanes;
  }

  const GradientBlock<T>* block_ = nullptr;
  std::size_t first_ = 0;
  std::size_t queries_ = 0;
  const T* query_ = nullptr;     ///< [d_k×lane], times scale and log₂ e
  const T* d_output_ = nullptr;  ///< [d_v×lane]
  LaneVisibility<T, Arch> visibility_;
  alignas(64) T score_start_[width];
  alignas(64) T d_weight_start_[width];
  alignas(64) T weight_sum_[width];
  alignas(64) T normaliser_[width];  ///< weights are multiplied by it
};

}  // namespace attn::exact

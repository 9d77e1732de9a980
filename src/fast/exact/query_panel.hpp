#pragma once

#include "fast/exact/lane_visibility.hpp"
#include "fast/exact/query_block.hpp"
#include "fast/exact/running_softmax.hpp"
#include "fast/simd/product.hpp"

namespace attn::exact {

/// As many queries as a few registers have lanes, on their way through the keys. Lane i is query i: keys and
/// values are read as they lie in memory, one number for all queries; maxima and sums need no step across
/// lanes; only queries and outputs are transposed.
template <class T, class Arch>
class QueryPanel {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t vectors = simd::Block<Arch>::vectors;

 public:
  static constexpr std::size_t width = vectors * lanes;  ///< queries
  static constexpr std::size_t tile_keys = simd::Block<Arch>::tile;

  /// The queries of a block from `first` on. `matrices` has room for width · (d_k + d_v) numbers, `weights`,
  /// which panels share, for width · tile_keys.
  void begin(const QueryBlock<T>& block, std::size_t first, T* matrices, T* weights) {
    block_ = &block;
    first_ = first;
    queries_ = std::min(width, block.queries - first);
    query_ = matrices;
    output_ = matrices + width * block.d_k;
    weights_ = weights;
    const T scale = static_cast<T>(static_cast<double>(block.scale) * std::numbers::log2e);
    simd::copy_transposed<T, Arch>({block.query + first * block.d_k, block.d_k, queries_, block.d_k}, scale,
                                   query_, width);
    std::fill_n(output_, width * block.d_v, T{0});
    softmax_.reset();
    visibility_.load(block.visible + first, queries_);
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) prime(v);
  }

  /// Attends to those keys of a tile that the queries see.
  void visit(Range tile) {
    while (tile.begin < tile.end) {
      const PanelRun run = visibility_.run_from(tile);
      if (run.vectors > 0) attend(run);
      tile.begin = run.keys.end;
    }
  }

  void finish() const {
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) store_output(v);
    if (block_->log_sum_exp == nullptr) return;
    for (std::size_t i = 0; i < queries_; ++i) block_->log_sum_exp[first_ + i] = softmax_.log_sum_exp(i);
  }

 private:
  /// Makes the score of a key that all lanes of a register see the first maximum. Hardly ever is one raised
  /// then.
  void prime(std::size_t vector) {
    for (std::size_t r = 0; r < block_->run_count; ++r) {
      const Range keys = common(visibility_.seen_by_all(vector), block_->runs[r]);
      if (keys.empty()) continue;
      Vector scores[1][1];
      score<false>(scores, {keys, vector, 1, false}, keys.end - 1);
      softmax_.raise(scores[0][0], vector);
      return;
    }
  }

  void attend(const PanelRun& run) {
    simd::with_constant<vectors>(run.vectors, [&](auto count) {
      if (run.masked)
        weigh_run<count(), true>(run);
      else
        weigh_run<count(), false>(run);
      add_values<count()>(run);
    });
  }

  template <std::size_t Vectors, bool Masked>
  [[gnu::noinline]] void weigh_run(const PanelRun& run) {
    simd::in_blocks<simd::Block<Arch>::rows_of(Vectors)>(
        run.keys.begin, run.keys.end,
        [&](std::size_t key, auto keys) { weigh<keys(), Vectors, Masked>(run, key); });
  }

  /// weight = 2^(q·k − m), from the product to the exponential in registers.
  template <std::size_t Keys, std::size_t Vectors, bool Masked>
  ATTN_INLINE void weigh(const PanelRun& run, std::size_t key) {
    const std::size_t first_lane = run.first_vector * lanes;
    T* weights = weights_ + (key - run.keys.begin) * width + first_lane;
    Vector scores[Keys][Vectors];
    score<Masked>(scores, run, key);
    if (pass_limit(scores, run.first_vector)) [[unlikely]]
      raise_maxima<Masked>(scores, run, key);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      Vector sum(T{0});
#pragma GCC unroll 8
      for (std::size_t k = 0; k < Keys; ++k) {
        const Vector weight = simd::power_of_2(scores[k][v]);
        weight.store_aligned(weights + k * width + v * lanes);
        sum = sum + weight;
      }
      softmax_.add(sum, run.first_vector + v);
    }
  }

  template <bool Masked, std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void score(Vector (&scores)[Keys][Vectors], const PanelRun& run, std::size_t key) const {
    const std::size_t d_k = block_->d_k;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      const Vector start = softmax_.start(run.first_vector + v);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < Keys; ++k) scores[k][v] = start;
    }
    simd::accumulate(scores, query_ + run.first_vector * lanes, width,
                     simd::Scalars<T>{block_->key + key * d_k, d_k, 1}, d_k);
    if constexpr (Masked) visibility_.hide(scores, run.first_vector, key);
  }

  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE bool pass_limit(const Vector (&scores)[Keys][Vectors], std::size_t first_vector) const {
    xsimd::batch_bool<T, Arch> passed(false);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      Vector greatest = scores[0][v];
#pragma GCC unroll 8
      for (std::size_t k = 1; k < Keys; ++k) greatest = xsimd::max(greatest, scores[k][v]);
      passed = passed | softmax_.passes(greatest, first_vector + v);
    }
    return xsimd::any(passed);
  }

  /// Rarely done. The scores go through memory, where they have room among the weights, so that they can stay
  /// in registers otherwise.
  template <bool Masked, std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void raise_maxima(Vector (&scores)[Keys][Vectors], const PanelRun& run, std::size_t key) {
    store(scores, run, key);
    for (std::size_t v = run.first_vector; v < run.first_vector + Vectors; ++v)
      raise_maximum(v, {run.keys.begin, key}, Keys);
    score_again<Keys, Vectors, Masked>(run, key);
    T* stored = weights_ + (key - run.keys.begin) * width + run.first_vector * lanes;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v)
        scores[k][v] = softmax_.capped(Vector::load_aligned(stored + k * width + v * lanes));
  }

  /// A large score has lost digits that the one relative to the new maximum keeps: equal keys shall have
  /// equal weights, whichever comes first.
  template <std::size_t Keys, std::size_t Vectors, bool Masked>
  [[gnu::noinline, gnu::cold]] void score_again(const PanelRun& run, std::size_t key) {
    Vector scores[Keys][Vectors];
    score<Masked>(scores, run, key);
    store(scores, run, key);
  }

  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void store(const Vector (&scores)[Keys][Vectors], const PanelRun& run, std::size_t key) {
    T* stored = weights_ + (key - run.keys.begin) * width + run.first_vector * lanes;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) scores[k][v].store_aligned(stored + k * width + v * lanes);
  }

  /// Raises a maximum to that of the scores, which follow the weights of the keys that are done, and rescales
  /// what was summed.
  [[gnu::noinline, gnu::cold]] void raise_maximum(std::size_t vector, const Range& done, std::size_t keys) {
    T* weights = weights_ + vector * lanes;
    const T* scores = weights + done.size() * width;
    Vector greatest = Vector::load_aligned(scores);
    for (std::size_t k = 1; k < keys; ++k)
      greatest = xsimd::max(greatest, Vector::load_aligned(scores + k * width));
    if (!xsimd::any(softmax_.passes(greatest, vector))) return;
    const Vector factor = softmax_.raise(greatest, vector);
    rescale(weights, done.size(), factor);
    rescale(output_ + vector * lanes, block_->d_v, factor);
  }

  static void rescale(T* rows, std::size_t count, Vector factor) {
    for (std::size_t r = 0; r < count; ++r)
      (Vector::load_aligned(rows + r * width) * factor).store_aligned(rows + r * width);
  }

  template <std::size_t Vectors>
  [[gnu::noinline]] void add_values(const PanelRun& run) {
    simd::in_blocks<simd::Block<Arch>::rows_of(Vectors)>(
        0, block_->d_v,
        [&](std::size_t column, auto columns) { add_columns<columns(), Vectors>(run, column); });
  }

  /// output += Σ weight · value, in some of its columns.
  template <std::size_t Columns, std::size_t Vectors>
  ATTN_INLINE void add_columns(const PanelRun& run, std::size_t column) {
    const std::size_t d_v = block_->d_v, first_lane = run.first_vector * lanes;
    Vector sums[Columns][Vectors];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) sums[c][v] = Vector(T{0});
    simd::accumulate(sums, weights_ + first_lane, width,
                     simd::Scalars<T>{block_->value + run.keys.begin * d_v + column, 1, d_v},
                     run.keys.size());
    T* output = output_ + column * width + first_lane;
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Columns; ++c)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        T* to = output + c * width + v * lanes;
        (Vector::load_aligned(to) + sums[c][v]).store_aligned(to);
      }
  }

  void store_output(std::size_t vector) const {
    const std::size_t d_v = block_->d_v, first = vector * lanes;
    for (std::size_t column = 0; column < d_v; column += lanes) {
      simd::Square<T, Arch> square;
      square.load({output_ + column * width + first, width, d_v - column, lanes});
      square.multiply(softmax_.reciprocal_sum(vector));
      square.transpose();
      square.store({block_->output + (first_ + first) * d_v + column, d_v, queries_ - first, d_v - column});
    }
  }

  const QueryBlock<T>* block_ = nullptr;
  std::size_t first_ = 0;
  std::size_t queries_ = 0;
  T* query_ = nullptr;    ///< [d_k×lane], times scale and log₂ e
  T* output_ = nullptr;   ///< [d_v×lane] Σ weight · value
  T* weights_ = nullptr;  ///< [key×lane] of a run
  LaneVisibility<T, Arch> visibility_;
  RunningSoftmax<T, Arch> softmax_;
};

}  // namespace attn::exact

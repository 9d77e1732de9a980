#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fast/exact/heads.hpp"
#include "fast/simd/isa.hpp"
#include "fast/simd/product.hpp"
#include "fast/simd/vector.hpp"

namespace attn::exact {

/// Adjacent keys that the same registers of a panel see: all their lanes unless masked.
struct PanelRun {
  Range keys;
  std::size_t first_vector;
  std::size_t vectors;
  bool masked;
};

/// Which keys the queries in the lanes of a panel see. A register that sees no key of a run is left out.
template <class T, class Arch>
class LaneVisibility {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t vectors = simd::Block<Arch>::vectors;

 public:
  /// visible [queries], at least one. The lanes beyond them see what the last query sees.
  void load(const Range* visible, std::size_t queries) {
    used_vectors_ = (queries + lanes - 1) / lanes;
    first_ = visible[0];
    for (std::size_t i = 0; i < used_vectors_ * lanes; ++i) {
      const Range& keys = visible[std::min(i, queries - 1)];
      begin_[i] = static_cast<T>(keys.begin - first_.begin);
      end_[i] = static_cast<T>(keys.end - first_.end);
    }
    for (std::size_t v = 0; v < used_vectors_; ++v) {
      const Range& first = visible[v * lanes];
      const Range& last = visible[std::min((v + 1) * lanes, queries) - 1];
      some_[v] = {first.begin, last.end};
      all_[v] = {last.begin, first.end};
    }
  }

  std::size_t used_vectors() const { return used_vectors_; }

  /// The begin is beyond the end where there are none.
  const Range& seen_by_all(std::size_t vector) const { return all_[vector]; }

  /// The run of keys from the first of a tile on that the same registers see, up to where masks begin or end
  /// to be needed. It may have no registers.
  PanelRun run_from(const Range& tile) const {
    std::size_t first = 0, end = used_vectors_;
    while (first < end && some_[first].end <= tile.begin) ++first;
    while (first < end && some_[end - 1].begin > tile.begin) --end;
    PanelRun run = {tile, first, end - first, false};
    if (end < used_vectors_) run.keys.end = std::min(run.keys.end, some_[end].begin);
    if (first == end) return run;
    run.keys.end = std::min(run.keys.end, some_[first].end);
    const Range unmasked = whole_steps({all_[end - 1].begin, all_[first].end}, run.keys);
    run.masked = unmasked.begin > tile.begin || unmasked.empty();
    if (!unmasked.empty()) run.keys.end = run.masked ? unmasked.begin : unmasked.end;
    return run;
  }

  /// Sets to −∞ the scores of those keys from `key` on that a lane does not see.
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void hide(Vector (&scores)[Keys][Vectors], std::size_t first_vector, std::size_t key) const {
    const Vector hidden(-std::numeric_limits<T>::infinity());
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k) {
      // Large distances are rounded, but they are compared only with the small distances between lanes.
      const Vector after_begin(distance(first_.begin, key + k)), after_end(distance(first_.end, key + k));
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        const auto begin = Vector::load_aligned(begin_ + (first_vector + v) * lanes);
        const auto end = Vector::load_aligned(end_ + (first_vector + v) * lanes);
        scores[k][v] = xsimd::select(begin <= after_begin && after_end < end, scores[k][v], hidden);
      }
    }
  }

 private:
  /// The keys in both ranges, in steps of as many keys as a register has lanes, to avoid many short runs.
  static Range whole_steps(const Range& seen, const Range& keys) {
    const std::size_t before = seen.begin > keys.begin ? seen.begin - keys.begin : 0;
    const std::size_t begin = keys.begin + (before + lanes - 1) / lanes * lanes;
    if (begin >= std::min(seen.end, keys.end)) return {};
    return {begin, seen.end >= keys.end ? keys.end : begin + (seen.end - begin) / lanes * lanes};
  }

  static T distance(std::size_t from, std::size_t to) {
    return static_cast<T>(static_cast<std::ptrdiff_t>(to - from));
  }

  std::size_t used_vectors_ = 0;
  Range some_[vectors];                   ///< what at least one lane of a register sees
  Range all_[vectors];                    ///< what all its lanes see
  Range first_;                           ///< what the first query sees
  alignas(64) T begin_[vectors * lanes];  ///< how much later than for the first query it begins
  alignas(64) T end_[vectors * lanes];    ///< and ends
};

/// The running maximum m and sum Σ 2^(score − m) of the query in each lane of a panel. Scores are in units of
/// log₂ e. The maximum is updated, and the sums are rescaled, only when a score exceeds it by more than
/// `slack`. Until then weights may be greater than 1, which changes no quotient.
template <class T, class Arch>
class RunningSoftmax {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t width = simd::Block<Arch>::vectors * lanes;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T slack = 16;

 public:
  void reset() {
    for (std::size_t lane = 0; lane < width; ++lane) {
      start_[lane] = 0;
      limit_[lane] = -infinity;
      sum_[lane] = 0;
    }
  }

  /// −m of each lane: a sum of products that starts there is a score relative to m.
  const T* starts() const { return start_; }

  /// A score relative to m, not above the limit: a score beyond 10⁸ can exceed it by rounding. A NaN stays
  /// one.
  ATTN_INLINE static Vector capped(Vector score) { return xsimd::min(Vector(slack), score); }

  /// Where a score relative to m exceeds the limit.
  ATTN_INLINE auto exceeds(Vector score, std::size_t vector) const { return score > load(limit_, vector); }

  ATTN_INLINE void add(Vector weights, std::size_t vector) {
    (load(sum_, vector) + weights).store_aligned(sum_ + vector * lanes);
  }

  /// Raises m, in all lanes at once, and returns the factor for all sums relative to it. The first keys of a
  /// query set m from 0 to a higher or lower value; there is nothing to rescale then.
  Vector raise(Vector greatest_score, std::size_t vector) {
    const Vector zero(T{0}), limit = load(limit_, vector), old_start = load(start_, vector);
    const auto rises = greatest_score > xsimd::min(limit, zero);
    const Vector new_start = old_start - xsimd::select(rises, greatest_score, zero);
    const Vector rise = old_start - new_start;  // as it was rounded
    const Vector factor = simd::power_of_2(xsimd::min(-rise, zero));
    new_start.store_aligned(start_ + vector * lanes);
    xsimd::select(rises, Vector(slack), limit).store_aligned(limit_ + vector * lanes);
    (load(sum_, vector) * factor).store_aligned(sum_ + vector * lanes);
    return factor;
  }

  /// 1 / sum, and 0 where no key was seen.
  Vector reciprocal_sum(std::size_t vector) const {
    const Vector sum = load(sum_, vector), zero(T{0});
    return xsimd::select(sum > zero, Vector(T{1}) / sum, zero);
  }

  /// ln Σ e^score
  T log_sum_exp(std::size_t lane) const {
    return sum_[lane] > 0 ? std::log(sum_[lane]) - start_[lane] * std::numbers::ln2_v<T> : -infinity;
  }

 private:
  ATTN_INLINE static Vector load(const T* numbers, std::size_t vector) {
    return Vector::load_aligned(numbers + vector * lanes);
  }

  alignas(64) T start_[width];
  alignas(64) T limit_[width];  ///< −∞ before the first key, then slack
  alignas(64) T sum_[width];
};

/// As many queries of a block as a few registers have lanes. Lane i is query i: keys and values are read as
/// they lie in memory, one number for all queries; only queries and what is found for them are transposed.
template <class T, class Arch>
class Panel {
 protected:
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t vectors = simd::Block<Arch>::vectors;

 public:
  static constexpr std::size_t width = vectors * lanes;  ///< queries
  static constexpr std::size_t tile_keys = simd::Block<Arch>::tile;

 protected:
  /// The queries of a block from `first` on; `query` has room for width · d_k numbers.
  void load(const QueryBlock<T>& block, std::size_t first, T* query) {
    block_ = &block;
    first_ = first;
    queries_ = std::min(width, block.queries - first);
    query_ = query;
    const T scale = static_cast<T>(static_cast<double>(block.scale) * std::numbers::log2e);
    simd::copy_transposed<T, Arch>({block.query + first * block.d_k, block.d_k, queries_, block.d_k}, scale,
                                   query, width);
    visibility_.load(block.visible + first, queries_);
  }

  /// Calls `work(run)` for the keys of a tile. Those that no lane of a register sees are skipped.
  template <class Work>
  ATTN_INLINE void for_each_run(Range keys, const Work& work) const {
    while (keys.begin < keys.end) {
      const PanelRun run = visibility_.run_from(keys);
      if (run.vectors > 0) work(run);
      keys.begin = run.keys.end;
    }
  }

  /// Calls `work(part, vectors)` for blocks of the registers of a run; `vectors`, a constant, is how many.
  template <class Work>
  ATTN_INLINE static void for_each_part(const PanelRun& run, const Work& work) {
    simd::in_blocks<vectors>(0, run.vectors, [&](std::size_t first, auto count) {
      work(PanelRun{run.keys, run.first_vector + first, count(), run.masked}, count);
    });
  }

  /// Calls `work(key, keys)` for blocks of the keys of a part of so many registers.
  template <std::size_t Vectors, class Work>
  ATTN_INLINE static void for_each_block(const PanelRun& part, const Work& work) {
    simd::in_blocks<simd::Block<Arch>::rows_of(Vectors)>(part.keys.begin, part.keys.end, work);
  }

  /// q·k of the keys from `key` on, in units of log₂ e, each sum starting at the lane's number of `starts`.
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void score(Vector (&scores)[Keys][Vectors], const T* starts, const PanelRun& part,
                         std::size_t key) const {
    const std::size_t d_k = block_->d_k, first_lane = part.first_vector * lanes;
    simd::set_rows(scores, starts + first_lane);
    simd::accumulate(scores, query_ + first_lane, width, simd::Scalars<T>{block_->key + key * d_k, d_k, 1},
                     d_k);
    if (part.masked) [[unlikely]]
      visibility_.hide(scores, part.first_vector, key);
  }

  const QueryBlock<T>* block_ = nullptr;
  std::size_t first_ = 0;
  std::size_t queries_ = 0;
  const T* query_ = nullptr;  ///< [d_k×lane], times scale and log₂ e
  LaneVisibility<T, Arch> visibility_;
};

/// A panel and its running softmax: maxima and sums need no operation across lanes.
template <class T, class Arch>
class ForwardPanel : public Panel<T, Arch> {
  using Base = Panel<T, Arch>;
  using Base::block_, Base::first_, Base::queries_, Base::visibility_, Base::lanes;
  using typename Base::Vector;

 public:
  using Base::tile_keys, Base::width;

  /// The queries of a block from `first` on. `matrices` has room for width · (d_k + d_v) numbers, `weights`,
  /// which all panels share, for width · tile_keys.
  void begin(const QueryBlock<T>& block, std::size_t first, T* matrices, T* weights) {
    this->load(block, first, matrices);
    output_ = matrices + width * block.d_k;
    weights_ = weights;
    std::fill_n(output_, width * block.d_v, T{0});
    softmax_.reset();
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) initialise_maximum(v);
  }

  /// Attends to those keys of a tile that the queries see.
  void visit(const Range& tile) {
    this->for_each_run(tile, [&](const PanelRun& run) {
      this->for_each_part(run, [&](const PanelRun& part, auto count) {
        weigh_run<count()>(part);
        add_values<count()>(part);
      });
    });
  }

  void finish() const {
    for (std::size_t v = 0; v < visibility_.used_vectors(); ++v) store_output(v);
    if (block_->log_sum_exp == nullptr) return;
    for (std::size_t i = 0; i < queries_; ++i) block_->log_sum_exp[first_ + i] = softmax_.log_sum_exp(i);
  }

 private:
  /// Sets the maximum to the score of a key that all lanes of a register see. After that it rarely rises.
  void initialise_maximum(std::size_t vector) {
    for (std::size_t r = 0; r < block_->run_count; ++r) {
      const Range keys = fast::common(visibility_.seen_by_all(vector), block_->runs[r]);
      if (keys.empty()) continue;
      Vector scores[1][1];
      this->score(scores, softmax_.starts(), {keys, vector, 1, false}, keys.end - 1);
      softmax_.raise(scores[0][0], vector);
      return;
    }
  }

  template <std::size_t Vectors>
  [[gnu::noinline]] void weigh_run(const PanelRun& run) {
    this->template for_each_block<Vectors>(
        run, [&](std::size_t key, auto keys) { weigh<keys(), Vectors>(run, key); });
  }

  /// weight = 2^(q·k − m), from the product to the exponential in registers.
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void weigh(const PanelRun& run, std::size_t key) {
    T* weights = stored_at(run, key);
    Vector scores[Keys][Vectors];
    this->score(scores, softmax_.starts(), run, key);
    if (exceed_limit(scores, run.first_vector)) [[unlikely]]
      raise_maxima(scores, run, key);
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

  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE bool exceed_limit(const Vector (&scores)[Keys][Vectors], std::size_t first_vector) const {
    xsimd::batch_bool<T, Arch> exceeded(false);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      Vector greatest = scores[0][v];
#pragma GCC unroll 8
      for (std::size_t k = 1; k < Keys; ++k) greatest = xsimd::max(greatest, scores[k][v]);
      exceeded = exceeded | softmax_.exceeds(greatest, first_vector + v);
    }
    return xsimd::any(exceeded);
  }

  /// Rarely called. The scores are stored in the place of their weights, so that they can stay in registers
  /// otherwise.
  template <std::size_t Keys, std::size_t Vectors>
  ATTN_INLINE void raise_maxima(Vector (&scores)[Keys][Vectors], const PanelRun& run, std::size_t key) {
    T* stored = stored_at(run, key);
    simd::store(scores, stored, width);
    for (std::size_t v = run.first_vector; v < run.first_vector + Vectors; ++v)
      raise_maximum(v, {run.keys.begin, key}, Keys);
    score_again<Keys, Vectors>(run, key);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Keys; ++k)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v)
        scores[k][v] = softmax_.capped(Vector::load_aligned(stored + k * width + v * lanes));
  }

  /// A large score has lost digits that the score relative to the new maximum keeps: equal keys must have
  /// equal weights, in any order.
  template <std::size_t Keys, std::size_t Vectors>
  [[gnu::noinline, gnu::cold]] void score_again(const PanelRun& run, std::size_t key) {
    Vector scores[Keys][Vectors];
    this->score(scores, softmax_.starts(), run, key);
    simd::store(scores, stored_at(run, key), width);
  }

  /// The weights of a key in the registers of a run.
  ATTN_INLINE T* stored_at(const PanelRun& run, std::size_t key) const {
    return weights_ + (key - run.keys.begin) * width + run.first_vector * lanes;
  }

  /// Raises a maximum to that of the scores, which are stored after the weights of the keys before, and
  /// rescales weights and output.
  [[gnu::noinline, gnu::cold]] void raise_maximum(std::size_t vector, const Range& before, std::size_t keys) {
    T* weights = weights_ + vector * lanes;
    const T* scores = weights + before.size() * width;
    Vector greatest = Vector::load_aligned(scores);
    for (std::size_t k = 1; k < keys; ++k)
      greatest = xsimd::max(greatest, Vector::load_aligned(scores + k * width));
    if (!xsimd::any(softmax_.exceeds(greatest, vector))) return;
    const Vector factor = softmax_.raise(greatest, vector);
    rescale(weights, before.size(), factor);
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
    simd::clear(sums);
    simd::accumulate(sums, weights_ + first_lane, width,
                     simd::Scalars<T>{block_->value + run.keys.begin * d_v + column, 1, d_v},
                     run.keys.size());
    simd::add_to(sums, output_ + column * width + first_lane, width);
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

  T* output_ = nullptr;   ///< [d_v×lane] Σ weight · value
  T* weights_ = nullptr;  ///< [key×lane] of a run
  RunningSoftmax<T, Arch> softmax_;
};

template <class T, class Arch>
void attend(const QueryBlock<T>& block, T* scratch) {
  using Panel = ForwardPanel<T, Arch>;
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
ForwardKernel<T> forward_kernel() {
  using Panel = ForwardPanel<T, simd::Architecture<isa>>;
  return {.panel_queries = Panel::width,
          .tile_scratch = Panel::width * Panel::tile_keys,
          .attend = &attend<T, simd::Architecture<isa>>};
}

}  // namespace attn::exact

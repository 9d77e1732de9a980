#pragma once

#include <algorithm>
#include <limits>

#include "fast/exact/kernels.hpp"
#include "fast/simd/vector.hpp"

namespace attn::exact {

/// Adjacent keys that the same registers of a panel see: all their lanes unless masked.
struct PanelRun {
  Range keys;
  std::size_t first_vector;
  std::size_t vectors;
  bool masked;

  /// Some of its registers.
  PanelRun part(std::size_t first, std::size_t count) const {
    return {keys, first_vector + first, count, masked};
  }
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

}  // namespace attn::exact

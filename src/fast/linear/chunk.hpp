#pragma once

#include <algorithm>

#include "fast/linear/ahead.hpp"
#include "fast/linear/rows.hpp"
#include "fast/linear/segment.hpp"
#include "fast/linear/sums.hpp"
#include "fast/simd/architecture.hpp"
#include "fast/simd/constant.hpp"

namespace attn::linear_time {

/// Neighbouring positions, so few that all about them stays in the nearest caches. What is done with them are
/// the matrix products φ(K)ᵀ V, φ(Q) S, φ(Q) φ(K)ᵀ and weights · V, each in blocks of rows × vectors sums
/// that stay in registers.
template <class T, class Arch>
class Chunk {
  using Vector = simd::Vector<T, Arch>;
  using Block = simd::Block<Arch>;
  using Range = exact::Range;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static_assert(chunk_size % lanes == 0 && lanes <= 16);
  alignas(64) static constexpr T lane_numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

 public:
  static std::size_t scratch_size(const Layout<T>& layout) {
    return 3 * chunk_size * layout.feature_width() + chunk_size * (layout.value_width() + chunk_size + 1);
  }

  Chunk(const Layout<T>& layout, T* scratch)
      : layout_(layout),
        query_(scratch),
        key_(query_ + chunk_size * layout.feature_width()),
        transposed_key_(key_ + chunk_size * layout.feature_width()),
        padded_value_(transposed_key_ + chunk_size * layout.feature_width()),
        weights_(padded_value_ + chunk_size * layout.value_width()),
        inverse_(weights_ + chunk_size * chunk_size) {}

  /// At most chunk_size keys with their values; key j stands in row j.
  void load_keys(const Keys<T>& keys);

  /// What `read<true>` wants of the keys besides.
  void transpose_keys() const;

  /// The queries of these rows.
  void load_queries(const T* query, Range queries);

  /// S += φ(K)ᵀ V, z += Σ φ(k). The sums over the chunk are complete before they are added.
  void add_keys_to(T* summary, Ahead<T> ahead) const;

  /// Outputs φ(q)ᵀ S / φ(q)ᵀ z. If causal, each query reads the keys up to its own row too.
  template <bool causal>
  void read(const T* summary, T* output, Ahead<T> ahead) const;

 private:
  /// How many keys the query rows before `end` see, all together.
  std::size_t keys_seen(std::size_t end) const { return std::min(end, keys_); }

  static simd::Rows<const T> rows_of(const T* data, std::size_t count, std::size_t columns) {
    return {data, columns, count, columns};
  }

  simd::Scalars<T> query_features(std::size_t row) const {
    return {query_ + row * layout_.feature_width(), layout_.feature_width(), 1};
  }

  template <std::size_t Rows>
  void weigh(std::size_t row) const;
  template <std::size_t Rows, std::size_t Vectors>
  void hide_later(Sums<Rows, Vectors, T, Arch>& weights, std::size_t row, std::size_t column) const;
  template <bool causal>
  void sum_weights(const T* z) const;
  template <bool causal>
  Vector weight_addends(std::size_t row, const T* z) const;
  template <std::size_t Rows, std::size_t Vectors>
  void store(const Sums<Rows, Vectors, T, Arch>& sums, std::size_t row, std::size_t column, T* output) const;

  Layout<T> layout_;
  std::size_t keys_ = 0;
  Range queries_{};
  T* query_;                  ///< [row×feature] φ(Q)
  T* key_;                    ///< [row×feature] φ(K)
  T* transposed_key_;         ///< [feature×row]
  const T* value_ = nullptr;  ///< [row×d_v] the caller's, or padded_value_ where rows are no whole lines
  T* padded_value_;           ///< [row×d_v]
  T* weights_;                ///< [query row×key row] φ(q)ᵀφ(k), 0 for a later key
  T* inverse_;                ///< [query row] 1 / Σ weights, or 0 for a sum of 0
};

template <class T, class Arch>
void Chunk<T, Arch>::load_keys(const Keys<T>& keys) {
  keys_ = keys.count;
  value_ = keys.value;
  map_rows<T, Arch>(EluPlusOne(), rows_of(keys.key, keys_, layout_.d_k), key_, layout_.feature_width());
  if (layout_.d_v == layout_.value_width()) return;
  map_rows<T, Arch>(Identity(), rows_of(keys.value, keys_, layout_.d_v), padded_value_,
                    layout_.value_width());
  value_ = padded_value_;
}

template <class T, class Arch>
void Chunk<T, Arch>::load_queries(const T* query, Range queries) {
  queries_ = queries;
  map_rows<T, Arch>(EluPlusOne(), rows_of(query, queries.size(), layout_.d_k),
                    query_ + queries.begin * layout_.feature_width(), layout_.feature_width());
}

template <class T, class Arch>
void Chunk<T, Arch>::transpose_keys() const {
  const std::size_t features = layout_.feature_width();
  for (std::size_t f = 0; f < features; f += lanes)
    for (std::size_t row = 0; row < keys_; row += lanes) {
      simd::Square<T, Arch> square;
      square.load_whole(key_ + row * features + f, features);
      square.transpose();
      square.store_whole(transposed_key_ + f * chunk_size + row, chunk_size);
    }
}

template <class T, class Arch>
void Chunk<T, Arch>::add_keys_to(T* summary, Ahead<T> ahead) const {
  const std::size_t features = layout_.feature_width(), width = layout_.value_width();
  for_each_panel<Block::vectors, T, Arch>(
      layout_.d_v, [&](auto vectors, std::size_t column) ATTN_INLINE_LAMBDA {
        simd::in_blocks<Block::rows_of(vectors())>(
            0, layout_.d_k, [&](std::size_t f, auto rows) ATTN_INLINE_LAMBDA {
              Sums<rows(), vectors(), T, Arch> sums;
              sums.clear();
              accumulate<xsimd::unaligned_mode>(sums, value_ + column, width,
                                                simd::Scalars<T>{key_ + f, 1, features}, keys_, ahead);
              sums.add_to(summary + f * width + column, width);
            });
      });
  T* z = summary + layout_.z_offset();
  for_each_panel<Block::vectors, T, Arch>(features, [&](auto vectors, std::size_t f) ATTN_INLINE_LAMBDA {
    Sums<1, vectors(), T, Arch> sums;
    sums.clear();
    for (std::size_t j = 0; j < keys_; ++j) sums.load_and_add(key_ + j * features + f, features);
    sums.add_to(z + f, features);
  });
}

template <class T, class Arch>
template <bool causal>
void Chunk<T, Arch>::read(const T* summary, T* output, Ahead<T> ahead) const {
  if constexpr (causal)
    simd::in_blocks<Block::rows>(queries_.begin, queries_.end,
                                 [&](std::size_t row, auto rows) ATTN_INLINE_LAMBDA { weigh<rows()>(row); });
  sum_weights<causal>(summary + layout_.z_offset());
  const std::size_t width = layout_.value_width();
  for_each_panel<Block::vectors, T, Arch>(
      layout_.d_v, [&](auto vectors, std::size_t column) ATTN_INLINE_LAMBDA {
        simd::in_blocks<Block::rows_of(vectors())>(
            queries_.begin, queries_.end, [&](std::size_t row, auto rows) ATTN_INLINE_LAMBDA {
              Sums<rows(), vectors(), T, Arch> sums;
              sums.clear();
              accumulate(sums, summary + column, width, query_features(row), layout_.d_k, ahead);
              if constexpr (causal)
                simd::accumulate<xsimd::unaligned_mode>(
                    sums.registers, value_ + column, width,
                    simd::Scalars<T>{weights_ + row * chunk_size, chunk_size, 1}, keys_seen(row + rows()));
              store(sums, row, column, output);
            });
      });
}

/// Of a few neighbouring query rows, with all keys that the last of them sees; 0 for the others, since `read`
/// takes blocks of other heights.
template <class T, class Arch>
template <std::size_t Rows>
void Chunk<T, Arch>::weigh(std::size_t row) const {
  T* weights = weights_ + row * chunk_size;
  std::fill_n(weights, Rows * chunk_size, T{0});
  for_each_panel<Block::vectors, T, Arch>(keys_seen(row + Rows), [&](auto vectors,
                                                                     std::size_t column) ATTN_INLINE_LAMBDA {
    Sums<Rows, vectors(), T, Arch> sums;
    sums.clear();
    simd::accumulate(sums.registers, transposed_key_ + column, chunk_size, query_features(row), layout_.d_k);
    hide_later(sums, row, column);
    sums.store(weights + column, chunk_size);
  });
}

/// Makes 0 the weights of keys after each row's own, and of those that there are not.
template <class T, class Arch>
template <std::size_t Rows, std::size_t Vectors>
ATTN_INLINE void Chunk<T, Arch>::hide_later(Sums<Rows, Vectors, T, Arch>& weights, std::size_t row,
                                            std::size_t column) const {
  const Vector lane = Vector::load_aligned(lane_numbers);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
    const Vector end(static_cast<T>(keys_seen(row + r + 1)));
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      const Vector key = lane + Vector(static_cast<T>(column + v * lanes));
      weights.registers[r][v] = xsimd::select(key < end, weights.registers[r][v], Vector(T{0}));
    }
  }
}

/// As many rows at a time as a register has lanes. Those without a query give numbers that nothing reads.
template <class T, class Arch>
template <bool causal>
void Chunk<T, Arch>::sum_weights(const T* z) const {
  for (std::size_t row = queries_.begin / lanes * lanes; row < queries_.end; row += lanes) {
    simd::Square<T, Arch> addends;
    for (std::size_t r = 0; r < lanes; ++r) addends.rows[r] = weight_addends<causal>(row + r, z);
    addends.transpose();
    Vector sums(T{0});
#pragma GCC unroll 16
    for (std::size_t r = 0; r < lanes; ++r) sums += addends.rows[r];
    const auto inverse = xsimd::select(sums == Vector(T{0}), Vector(T{0}), Vector(T{1}) / sums);
    inverse.store_aligned(inverse_ + row);
  }
}

/// A register whose lanes add up to φ(q)ᵀ z, and the weights of the chunk's keys if causal.
template <class T, class Arch>
template <bool causal>
ATTN_INLINE auto Chunk<T, Arch>::weight_addends(std::size_t row, const T* z) const -> Vector {
  const std::size_t features = layout_.feature_width();
  Vector sums(T{0});
  for (std::size_t f = 0; f < features; f += lanes)
    sums = simd::multiply_add(Vector::load_aligned(query_ + row * features + f), Vector::load_aligned(z + f),
                              sums);
  if constexpr (causal)
    for (std::size_t j = 0; j < chunk_size; j += lanes)
      sums += Vector::load_aligned(weights_ + row * chunk_size + j);
  return sums;
}

/// Divides, and writes as many columns as there are.
template <class T, class Arch>
template <std::size_t Rows, std::size_t Vectors>
ATTN_INLINE void Chunk<T, Arch>::store(const Sums<Rows, Vectors, T, Arch>& sums, std::size_t row,
                                       std::size_t column, T* output) const {
  constexpr std::size_t most = Vectors * lanes;
  const std::size_t columns = std::min(layout_.d_v - column, most), width = layout_.d_v;
  T* to = output + (row - queries_.begin) * width + column;
  if (columns == most) return sums.store_scaled(inverse_ + row, to, width);
  alignas(64) T part[Rows * most];
  sums.store_scaled(inverse_ + row, part, most);
  for (std::size_t r = 0; r < Rows; ++r, to += width) std::copy_n(part + r * most, columns, to);
}

}  // namespace attn::linear_time

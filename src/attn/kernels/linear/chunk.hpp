#pragma once

#include "attn/kernels/linear/rows.hpp"
#include "attn/kernels/linear/segment.hpp"
#include "attn/kernels/linear/sums.hpp"

namespace attn::linear_time {

/// Neighbouring positions, so few that all about them stays in the first cache. What is done with them are
/// the matrix products φ(K)ᵀ V, φ(Q) S, φ(Q) φ(K)ᵀ and weights · V, each in blocks of rows × vectors sums
/// that stay in registers.
template <class T, class Arch>
class Chunk {
  using Vector = simd::Vector<T, Arch>;
  using Range = exact::Range;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static constexpr std::size_t rows = 4;
  static constexpr std::size_t vectors = simd::registers<Arch> == 32 ? 4 : 2;
  static_assert(chunk_size % lanes == 0 && chunk_size % rows == 0 && Layout<T>::padded(1) % rows == 0);

 public:
  static std::size_t scratch_size(const Layout<T>& layout) {
    return (3 * chunk_size + 1) * layout.feature_width() +
           chunk_size * (layout.value_width() + chunk_size + 1);
  }

  Chunk(const Layout<T>& layout, T* scratch)
      : layout_(layout),
        query_(scratch),
        key_(query_ + chunk_size * layout.feature_width()),
        transposed_key_(key_ + chunk_size * layout.feature_width()),
        z_(transposed_key_ + chunk_size * layout.feature_width()),
        value_(z_ + layout.feature_width()),
        weights_(value_ + chunk_size * layout.value_width()),
        inverse_(weights_ + chunk_size * chunk_size) {}

  /// At most chunk_size keys with their values; key j stands in row j.
  void load_keys(const Keys<T>& keys);

  /// What `read<true>` wants of the keys besides.
  void transpose_keys() const;

  /// The queries of these rows.
  void load_queries(const T* query, Range queries);

  /// S += φ(K)ᵀ V, z += Σ φ(k). The sums over the chunk are complete before they are added.
  void add_keys_to(T* summary) const;

  /// Outputs φ(q)ᵀ S / φ(q)ᵀ z. If causal, each query reads the keys up to its own row too.
  template <bool causal>
  void read(const T* summary, T* output) const;

 private:
  /// How many keys the query rows `row`, …, `row` + rows − 1 see, all together.
  std::size_t keys_seen(std::size_t row) const { return row + rows < keys_ ? row + rows : keys_; }

  std::size_t first_row() const { return queries_.begin / rows * rows; }

  static simd::Rows<const T> rows_of(const T* data, std::size_t count, std::size_t columns) {
    return {data, columns, count, columns};
  }

  simd::Scalars<T> query_features(std::size_t row) const {
    return {query_ + row * layout_.feature_width(), layout_.feature_width(), 1};
  }

  template <bool causal>
  void sum_weights(const T* z) const;
  void weigh(std::size_t row) const;
  template <std::size_t Vectors>
  void store(const Sums<rows, Vectors, T, Arch>& sums, std::size_t row, std::size_t column, T* output) const;

  Layout<T> layout_;
  std::size_t keys_ = 0;
  Range queries_{};
  T* query_;           ///< [row×feature] φ(Q)
  T* key_;             ///< [row×feature] φ(K)
  T* transposed_key_;  ///< [feature×row]
  T* z_;               ///< [feature] Σ φ(k) over what the query at hand sees
  T* value_;           ///< [row×d_v]
  T* weights_;         ///< [query row×key row] φ(q)ᵀφ(k), 0 for a later key among those `keys_seen`
  T* inverse_;         ///< [query row] 1 / Σ weights, or 0 for a sum of 0
};

template <class T, class Arch>
void Chunk<T, Arch>::load_keys(const Keys<T>& keys) {
  keys_ = keys.count;
  map_rows<T, Arch>(EluPlusOne(), rows_of(keys.key, keys_, layout_.d_k), key_, layout_.feature_width());
  map_rows<T, Arch>(Identity(), rows_of(keys.value, keys_, layout_.d_v), value_, layout_.value_width());
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
void Chunk<T, Arch>::add_keys_to(T* summary) const {
  const std::size_t features = layout_.feature_width(), width = layout_.value_width();
  for_each_panel<rows, vectors, T, Arch>(layout_.d_v, [&](auto sums, std::size_t column) {
    for (std::size_t f = 0; f < layout_.d_k; f += rows) {
      sums.clear();
      simd::accumulate(sums.registers, value_ + column, width, simd::Scalars<T>{key_ + f, 1, features},
                       keys_);
      sums.add_to(summary + f * width + column, width);
    }
  });
  T* z = summary + layout_.z_offset();
  for (std::size_t f = 0; f < features; f += lanes) {
    Vector sum(T{0});
    for (std::size_t j = 0; j < keys_; ++j) sum += Vector::load_aligned(key_ + j * features + f);
    (Vector::load_aligned(z + f) + sum).store_aligned(z + f);
  }
}

template <class T, class Arch>
template <bool causal>
void Chunk<T, Arch>::read(const T* summary, T* output) const {
  sum_weights<causal>(summary + layout_.z_offset());
  if constexpr (causal)
    for (std::size_t row = first_row(); row < queries_.end; row += rows) weigh(row);
  const std::size_t width = layout_.value_width();
  for_each_panel<rows, vectors, T, Arch>(layout_.d_v, [&](auto sums, std::size_t column) {
    for (std::size_t row = first_row(); row < queries_.end; row += rows) {
      sums.clear();
      simd::accumulate(sums.registers, summary + column, width, query_features(row), layout_.d_k);
      if constexpr (causal)
        simd::accumulate(sums.registers, value_ + column, width,
                         simd::Scalars<T>{weights_ + row * chunk_size, chunk_size, 1}, keys_seen(row));
      store(sums, row, column, output);
    }
  });
}

/// φ(q)ᵀ z, where z grows by the key of each row if causal.
template <class T, class Arch>
template <bool causal>
void Chunk<T, Arch>::sum_weights(const T* z) const {
  const std::size_t features = layout_.feature_width();
  for (std::size_t f = 0; f < features; f += lanes) Vector::load_aligned(z + f).store_aligned(z_ + f);
  for (std::size_t row = causal ? 0 : queries_.begin; row < queries_.end; ++row) {
    Vector products(T{0});
    for (std::size_t f = 0; f < features; f += lanes) {
      Vector sum = Vector::load_aligned(z_ + f);
      if (causal && row < keys_) {
        sum += Vector::load_aligned(key_ + row * features + f);
        sum.store_aligned(z_ + f);
      }
      products = simd::multiply_add(Vector::load_aligned(query_ + row * features + f), sum, products);
    }
    const T sum = xsimd::hadd(products);
    inverse_[row] = sum == T{0} ? T{0} : T{1} / sum;
  }
}

template <class T, class Arch>
void Chunk<T, Arch>::weigh(std::size_t row) const {
  T* weights = weights_ + row * chunk_size;
  for_each_panel<rows, vectors, T, Arch>(keys_seen(row), [&](auto sums, std::size_t column) {
    sums.clear();
    simd::accumulate(sums.registers, transposed_key_ + column, chunk_size, query_features(row), layout_.d_k);
    sums.store(weights + column, chunk_size);
  });
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t later = row + r + 1; later < row + rows; ++later) weights[r * chunk_size + later] = T{0};
}

/// Divides, and writes as much as there are queries and columns.
template <class T, class Arch>
template <std::size_t Vectors>
void Chunk<T, Arch>::store(const Sums<rows, Vectors, T, Arch>& sums, std::size_t row, std::size_t column,
                           T* output) const {
  const bool whole = column + Vectors * lanes <= layout_.d_v;
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
    if (row + r < queries_.begin || row + r >= queries_.end) continue;
    T* to = output + (row + r - queries_.begin) * layout_.d_v + column;
    alignas(64) T part[Vectors * lanes];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      __builtin_prefetch(to + chunk_size * layout_.d_v + v * lanes, 1, 2);
      const Vector quotient = sums.registers[r][v] * Vector(inverse_[row + r]);
      if (whole)
        quotient.store_unaligned(to + v * lanes);
      else
        quotient.store_aligned(part + v * lanes);
    }
    if (whole) continue;
    for (std::size_t c = 0; column + c < layout_.d_v; ++c) to[c] = part[c];
  }
}

}  // namespace attn::linear_time

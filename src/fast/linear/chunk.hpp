#pragma once

#include <algorithm>
#include <type_traits>

#include "fast/linear/kernels.hpp"
#include "fast/simd/isa.hpp"
#include "fast/simd/product.hpp"
#include "fast/simd/vector.hpp"

namespace attn::linear_time {

/// Two arrays that the next chunk reads. They are prefetched during this chunk's computation, a few cache
/// lines at a time: a core can wait for about a dozen lines, and another request stalls it. A prefetch beyond
/// the end of an array is harmless and cheaper than a check.
template <class T>
struct Prefetch {
  const T* one;
  const T* other;

  /// Prefetches the next `count` numbers of both into the second-level cache.
  template <std::size_t count>
  ATTN_INLINE void next() {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) {
      __builtin_prefetch(one + i, 0, 2);
      __builtin_prefetch(other + i, 0, 2);
    }
    one += count;
    other += count;
  }
};

/// As simd::accumulate. Prefetches as many numbers of either array as it reads scalars.
template <class Alignment = xsimd::aligned_mode, std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void accumulate(simd::Vector<T, Arch> (&sums)[Rows][Vectors], const T* panel, std::size_t width,
                            simd::Scalars<T> scalars, std::size_t count, Prefetch<T>& prefetch) {
  constexpr std::size_t steps = 8;
  for (; count >= steps; count -= steps, panel += steps * width, scalars.data += steps * scalars.step) {
    prefetch.template next<Rows * steps>();
    simd::accumulate<Alignment>(sums, panel, width, scalars, steps);
  }
  simd::accumulate<Alignment>(sums, panel, width, scalars, count);
}

/// Writes `map` of the rows into aligned rows of `width` numbers, of which the last ones are 0.
template <class T, class Arch, class Map>
ATTN_INLINE void map_rows(const Map& map, simd::Rows<const T> from, T* to, std::size_t width) {
  using Vector = simd::Vector<T, Arch>;
  const std::size_t whole = from.columns / Vector::size * Vector::size, rest = from.columns - whole;
  for (std::size_t r = 0; r < from.rows; ++r, from.data += from.stride, to += width) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < whole; c += Vector::size)
      map(Vector::load_unaligned(from.data + c)).store_aligned(to + c);
    if (whole == width) continue;
    alignas(64) T numbers[Vector::size] = {};
    std::copy_n(from.data + whole, rest, numbers);
    map(Vector::load_aligned(numbers)).store_aligned(numbers);
    std::copy_n(numbers, rest, to + whole);
    std::fill(to + from.columns, to + width, T{0});
  }
}

/// Adjacent positions, few enough that their numbers stay in the nearest caches. A chunk computes the matrix
/// products φ(K)ᵀ V, φ(Q) S, φ(Q) φ(K)ᵀ and weights · V, each in blocks of rows × vectors sums that stay in
/// registers.
template <class T, class Arch>
class Chunk {
  using Vector = simd::Vector<T, Arch>;
  using Block = simd::Block<Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;
  static_assert(chunk_size % lanes == 0 && lanes <= 16);
  alignas(64) static constexpr T lane_numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  static constexpr auto identity = [](Vector x) ATTN_INLINE_LAMBDA { return x; };

  /// exp(min(x, 0)) + max(x, 0), without a branch. A NaN stays one.
  static constexpr auto elu_plus_one = [](Vector x) ATTN_INLINE_LAMBDA {
    const Vector zero(T{0}), log2_e(static_cast<T>(1.4426950408889634L));
    return simd::power_of_2(xsimd::min(zero, x) * log2_e) + xsimd::max(zero, x);
  };

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
  void load_keys(const Keys<T>& keys) {
    keys_ = keys.count;
    value_ = keys.value;
    map_to_features(rows_of(keys.key, keys_, layout_.d_k), key_);
    if (layout_.d_v == layout_.value_width()) return;
    map_rows<T, Arch>(identity, rows_of(keys.value, keys_, layout_.d_v), padded_value_,
                      layout_.value_width());
    value_ = padded_value_;
  }

  /// The transposed keys that `read<true>` needs.
  void transpose_keys() const {
    const std::size_t features = layout_.feature_width();
    for (std::size_t f = 0; f < features; f += lanes)
      for (std::size_t row = 0; row < keys_; row += lanes) {
        simd::Square<T, Arch> square;
        square.load_whole(key_ + row * features + f, features);
        square.transpose();
        square.store_whole(transposed_key_ + f * chunk_size + row, chunk_size);
      }
  }

  /// The queries of these rows.
  void load_queries(const T* query, Range queries) {
    queries_ = queries;
    map_to_features(rows_of(query, queries.size(), layout_.d_k),
                    query_ + queries.begin * layout_.feature_width());
  }

  /// S += φ(K)ᵀ V, z += Σ φ(k). The sums over the chunk are complete before they are added.
  void add_keys_to(T* state, Prefetch<T> prefetch) const {
    const std::size_t features = layout_.feature_width(), width = layout_.value_width();
    simd::for_each_panel<T, Arch>(layout_.d_v, [&](std::size_t column, auto vectors) ATTN_INLINE_LAMBDA {
      simd::in_blocks<Block::rows_of(vectors())>(
          0, layout_.d_k, [&](std::size_t f, auto rows) ATTN_INLINE_LAMBDA {
            Vector sums[rows()][vectors()];
            simd::clear(sums);
            accumulate<xsimd::unaligned_mode>(sums, value_ + column, width,
                                              simd::Scalars<T>{key_ + f, 1, features}, keys_, prefetch);
            simd::add_to(sums, state + f * width + column, width);
          });
    });
    T* z = state + layout_.z_offset();
    simd::for_each_panel<T, Arch>(features, [&](std::size_t f, auto vectors) ATTN_INLINE_LAMBDA {
      constexpr std::size_t count = vectors();
      Vector sums[1][count];
      simd::clear(sums);
      for (std::size_t j = 0; j < keys_; ++j)
#pragma GCC unroll 8
        for (std::size_t v = 0; v < count; ++v)
          sums[0][v] += Vector::load_aligned(key_ + j * features + f + v * lanes);
      simd::add_to(sums, z + f, features);
    });
  }

  /// Outputs φ(q)ᵀ S / φ(q)ᵀ z. If causal, each query reads the keys up to its own row too.
  template <bool causal>
  void read(const T* state, T* output, Prefetch<T> prefetch) const {
    if constexpr (causal)
      simd::in_blocks<Block::rows>(queries_.begin, queries_.end,
                                   [&](std::size_t row, auto rows)
                                       ATTN_INLINE_LAMBDA { weigh<rows()>(row); });
    sum_weights<causal>(state + layout_.z_offset());
    const std::size_t width = layout_.value_width();
    simd::for_each_panel<T, Arch>(layout_.d_v, [&](std::size_t column, auto vectors) ATTN_INLINE_LAMBDA {
      simd::in_blocks<Block::rows_of(vectors())>(
          queries_.begin, queries_.end, [&](std::size_t row, auto rows) ATTN_INLINE_LAMBDA {
            Vector sums[rows()][vectors()];
            simd::clear(sums);
            accumulate(sums, state + column, width, query_features(row), layout_.d_k, prefetch);
            if constexpr (causal)
              simd::accumulate<xsimd::unaligned_mode>(
                  sums, value_ + column, width, simd::Scalars<T>{weights_ + row * chunk_size, chunk_size, 1},
                  keys_seen(row + rows()));
            store(sums, row, column, output);
          });
    });
  }

 private:
  /// How many keys the query rows before `end` see, all together.
  std::size_t keys_seen(std::size_t end) const {
    return std::min(end, keys_);
  }

  static simd::Rows<const T> rows_of(const T* data, std::size_t count, std::size_t columns) {
    return {data, columns, count, columns};
  }

  void map_to_features(simd::Rows<const T> from, T* to) const {
    if (layout_.are_features)
      map_rows<T, Arch>(identity, from, to, layout_.feature_width());
    else
      map_rows<T, Arch>(elu_plus_one, from, to, layout_.feature_width());
  }

  simd::Scalars<T> query_features(std::size_t row) const {
    return {query_ + row * layout_.feature_width(), layout_.feature_width(), 1};
  }

  /// The weights of a few adjacent query rows for all keys that the last of them sees; 0 for other keys,
  /// since `read` takes blocks of other heights.
  template <std::size_t Rows>
  void weigh(std::size_t row) const {
    T* weights = weights_ + row * chunk_size;
    std::fill_n(weights, Rows * chunk_size, T{0});
    simd::for_each_panel<T, Arch>(
        keys_seen(row + Rows), [&](std::size_t column, auto vectors) ATTN_INLINE_LAMBDA {
          Vector sums[Rows][vectors()];
          simd::clear(sums);
          simd::accumulate(sums, transposed_key_ + column, chunk_size, query_features(row), layout_.d_k);
          hide_later(sums, row, column);
          simd::store(sums, weights + column, chunk_size);
        });
  }

  /// Sets to 0 the weights of keys after each row's own, and beyond the last key.
  template <std::size_t Rows, std::size_t Vectors>
  void hide_later(Vector (&weights)[Rows][Vectors], std::size_t row, std::size_t column) const {
    const Vector lane = Vector::load_aligned(lane_numbers);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vector end(static_cast<T>(keys_seen(row + r + 1)));
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        const Vector key = lane + Vector(static_cast<T>(column + v * lanes));
        weights[r][v] = xsimd::select(key < end, weights[r][v], Vector(T{0}));
      }
    }
  }

  /// As many rows at a time as a register has lanes. Rows without a query give numbers that nothing reads.
  template <bool causal>
  void sum_weights(const T* z) const {
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
  template <bool causal>
  Vector weight_addends(std::size_t row, const T* z) const {
    const std::size_t features = layout_.feature_width();
    Vector sums(T{0});
    for (std::size_t f = 0; f < features; f += lanes)
      sums = simd::multiply_add(Vector::load_aligned(query_ + row * features + f),
                                Vector::load_aligned(z + f), sums);
    if constexpr (causal)
      for (std::size_t j = 0; j < chunk_size; j += lanes)
        sums += Vector::load_aligned(weights_ + row * chunk_size + j);
    return sums;
  }

  /// Divides, and writes as many columns as there are.
  template <std::size_t Rows, std::size_t Vectors>
  void store(const Vector (&sums)[Rows][Vectors], std::size_t row, std::size_t column, T* output) const {
    constexpr std::size_t most = Vectors * lanes;
    const std::size_t columns = std::min(layout_.d_v - column, most), width = layout_.d_v;
    T* to = output + (row - queries_.begin) * width + column;
    if (columns == most) return store_divided(sums, row, to, width);
    alignas(64) T part[Rows * most];
    store_divided(sums, row, part, most);
    for (std::size_t r = 0; r < Rows; ++r, to += width) std::copy_n(part + r * most, columns, to);
  }

  /// To any address.
  template <std::size_t Rows, std::size_t Vectors>
  ATTN_INLINE void store_divided(const Vector (&sums)[Rows][Vectors], std::size_t row, T* matrix,
                                 std::size_t width) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vector scale(inverse_[row + r]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v)
        (sums[r][v] * scale).store_unaligned(matrix + r * width + v * lanes);
    }
  }

  Layout<T> layout_;
  std::size_t keys_ = 0;
  Range queries_{};
  T* query_;           ///< [row×feature] φ(Q)
  T* key_;             ///< [row×feature] φ(K)
  T* transposed_key_;  ///< [feature×row]
  const T* value_ =
      nullptr;       ///< [row×d_v] the caller's, or padded_value_ where rows are not a multiple of 64 bytes
  T* padded_value_;  ///< [row×d_v]
  T* weights_;       ///< [query row×key row] φ(q)ᵀφ(k), 0 for a later key
  T* inverse_;       ///< [query row] 1 / Σ weights, or 0 for a sum of 0
};

/// The keys of the chunk that begins at a position; none beyond the last.
template <class T>
ATTN_INLINE Keys<T> chunk_of(const Layout<T>& layout, const Keys<T>& keys, std::size_t position) {
  const std::size_t begin = std::min(position, keys.count);
  return {keys.key + begin * layout.d_k, keys.value + begin * layout.d_v,
          std::min(keys.count - begin, chunk_size)};
}

/// A head's queries from one of them on.
template <class T>
ATTN_INLINE Queries<T> queries_from(const Layout<T>& layout, const Queries<T>& queries, std::size_t first) {
  return {queries.query + first * layout.d_k, queries.output + first * layout.d_v};
}

template <class T, class Arch>
void read(const Layout<T>& layout, const T* state, const Queries<T>& queries, std::size_t count, T* scratch) {
  const simd::FlushDenormals flush;
  Chunk<T, Arch> chunk(layout, scratch);
  for (std::size_t i = 0; i < count; i += chunk_size) {
    const Queries<T> here = queries_from(layout, queries, i);
    const Queries<T> next = queries_from(layout, queries, i + chunk_size);
    chunk.load_queries(here.query, {0, std::min(count - i, chunk_size)});
    chunk.template read<false>(state, here.output, {next.query, next.output});
  }
}

/// seen = before + state
template <class T, class Arch>
void add(const Layout<T>& layout, const T* before, const T* state, T* seen) {
  using Vector = simd::Vector<T, Arch>;
  for (std::size_t i = 0; i < layout.state_size(); i += simd::lanes<T, Arch>)
    (Vector::load_aligned(before + i) + Vector::load_aligned(state + i)).store_aligned(seen + i);
}

template <class T, class Arch>
void attend(const Layout<T>& layout, const CausalSegment<T>& segment, T* state, T* scratch) {
  const simd::FlushDenormals flush;
  T* seen = scratch;
  Chunk<T, Arch> chunk(layout, scratch + layout.state_size());
  std::fill_n(state, layout.state_size(), T{0});
  const std::size_t end = std::max(segment.keys.count, segment.queries.end);
  for (std::size_t position = 0; position < end; position += chunk_size) {
    chunk.load_keys(chunk_of(layout, segment.keys, position));
    const auto queries = common(segment.queries, {position, position + chunk_size});
    if (!queries.empty()) {
      chunk.transpose_keys();
      add<T, Arch>(layout, segment.before, state, seen);
      const std::size_t first = queries.begin - segment.queries.begin;
      for (std::size_t head = 0; head < segment.heads; ++head) {
        const Queries<T> here = queries_from(layout, segment.readers[head], first);
        const Queries<T> next = queries_from(layout, segment.readers[head], first + queries.size());
        chunk.load_queries(here.query, {queries.begin - position, queries.end - position});
        chunk.template read<true>(seen, here.output, {next.query, next.output});
      }
    }
    const Keys<T> next = chunk_of(layout, segment.keys, position + chunk_size);
    chunk.add_keys_to(state, {next.key, next.value});
  }
}

template <simd::Isa isa, class T>
SegmentKernel<T> segment_kernel() {
  using Arch = simd::Architecture<isa>;
  return {[](const Layout<T>& layout) { return layout.state_size() + Chunk<T, Arch>::scratch_size(layout); },
          &read<T, Arch>, &attend<T, Arch>};
}

}  // namespace attn::linear_time

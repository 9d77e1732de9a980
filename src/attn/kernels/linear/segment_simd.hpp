#pragma once

#include <algorithm>

#include "attn/kernels/linear/chunk.hpp"
#include "attn/kernels/simd/architecture.hpp"
#include "attn/kernels/simd/flush_denormals.hpp"

namespace attn::linear_time {

/// The chunk after these rows, of keys and values or of queries and outputs.
template <class T>
ATTN_INLINE Ahead<T> next_chunk(const Layout<T>& layout, const T* d_k_wide, const T* d_v_wide) {
  return {d_k_wide + chunk_size * layout.d_k, d_v_wide + chunk_size * layout.d_v};
}

/// The keys of the chunk that begins at a position.
template <class T>
ATTN_INLINE Keys<T> chunk_of(const Layout<T>& layout, const Keys<T>& keys, std::size_t position) {
  const std::size_t begin = std::min(position, keys.count);
  return {keys.key + begin * layout.d_k, keys.value + begin * layout.d_v,
          std::min(keys.count - begin, chunk_size)};
}

template <class T, class Arch>
void summarise(const Layout<T>& layout, const Keys<T>& keys, T* summary, T* scratch) {
  const simd::FlushDenormals flush;
  Chunk<T, Arch> chunk(layout, scratch);
  std::fill_n(summary, layout.summary_size(), T{0});
  for (std::size_t position = 0; position < keys.count; position += chunk_size) {
    const Keys<T> here = chunk_of(layout, keys, position);
    chunk.load_keys(here);
    chunk.add_keys_to(summary, next_chunk(layout, here.key, here.value));
  }
}

template <class T, class Arch>
void read(const Layout<T>& layout, const T* summary, const Queries<T>& queries, std::size_t count,
          T* scratch) {
  const simd::FlushDenormals flush;
  Chunk<T, Arch> chunk(layout, scratch);
  for (std::size_t i = 0; i < count; i += chunk_size) {
    const T* query = queries.query + i * layout.d_k;
    T* output = queries.output + i * layout.d_v;
    chunk.load_queries(query, {0, std::min(count - i, chunk_size)});
    chunk.template read<false>(summary, output, next_chunk<T>(layout, query, output));
  }
}

/// seen = before + summary
template <class T, class Arch>
void add(const Layout<T>& layout, const T* before, const T* summary, T* seen) {
  using Vector = simd::Vector<T, Arch>;
  for (std::size_t i = 0; i < layout.summary_size(); i += simd::lanes<T, Arch>)
    (Vector::load_aligned(before + i) + Vector::load_aligned(summary + i)).store_aligned(seen + i);
}

template <class T, class Arch>
void attend(const Layout<T>& layout, const CausalSegment<T>& segment, T* summary, T* scratch) {
  const simd::FlushDenormals flush;
  T* seen = scratch;
  Chunk<T, Arch> chunk(layout, scratch + layout.summary_size());
  std::fill_n(summary, layout.summary_size(), T{0});
  const std::size_t end = std::max(segment.keys.count, segment.queries.end);
  for (std::size_t position = 0; position < end; position += chunk_size) {
    const Keys<T> here = chunk_of(layout, segment.keys, position);
    chunk.load_keys(here);
    const auto queries = exact::common(segment.queries, {position, position + chunk_size});
    if (!queries.empty()) {
      chunk.transpose_keys();
      add<T, Arch>(layout, segment.before, summary, seen);
      for (std::size_t head = 0; head < segment.heads; ++head) {
        const std::size_t first = queries.begin - segment.queries.begin;
        const T* query = segment.readers[head].query + first * layout.d_k;
        T* output = segment.readers[head].output + first * layout.d_v;
        chunk.load_queries(query, {queries.begin - position, queries.end - position});
        chunk.template read<true>(seen, output, next_chunk<T>(layout, query, output));
      }
    }
    chunk.add_keys_to(summary, next_chunk(layout, here.key, here.value));
  }
}

template <exact::Isa isa, class T>
SegmentKernel<T> segment_kernel() {
  using Arch = simd::Architecture<isa>;
  return {
      [](const Layout<T>& layout) { return layout.summary_size() + Chunk<T, Arch>::scratch_size(layout); },
      &summarise<T, Arch>, &read<T, Arch>, &attend<T, Arch>};
}

}  // namespace attn::linear_time

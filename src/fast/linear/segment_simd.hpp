#pragma once

#include <algorithm>

#include "fast/linear/chunk.hpp"
#include "fast/simd/architecture.hpp"
#include "fast/simd/flush_denormals.hpp"

namespace attn::linear_time {

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
void summarise(const Layout<T>& layout, const Keys<T>& keys, T* summary, T* scratch) {
  const simd::FlushDenormals flush;
  Chunk<T, Arch> chunk(layout, scratch);
  std::fill_n(summary, layout.summary_size(), T{0});
  for (std::size_t position = 0; position < keys.count; position += chunk_size) {
    chunk.load_keys(chunk_of(layout, keys, position));
    const Keys<T> next = chunk_of(layout, keys, position + chunk_size);
    chunk.add_keys_to(summary, {next.key, next.value});
  }
}

template <class T, class Arch>
void read(const Layout<T>& layout, const T* summary, const Queries<T>& queries, std::size_t count,
          T* scratch) {
  const simd::FlushDenormals flush;
  Chunk<T, Arch> chunk(layout, scratch);
  for (std::size_t i = 0; i < count; i += chunk_size) {
    const Queries<T> here = queries_from(layout, queries, i);
    const Queries<T> next = queries_from(layout, queries, i + chunk_size);
    chunk.load_queries(here.query, {0, std::min(count - i, chunk_size)});
    chunk.template read<false>(summary, here.output, {next.query, next.output});
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
    chunk.load_keys(chunk_of(layout, segment.keys, position));
    const auto queries = exact::common(segment.queries, {position, position + chunk_size});
    if (!queries.empty()) {
      chunk.transpose_keys();
      add<T, Arch>(layout, segment.before, summary, seen);
      const std::size_t first = queries.begin - segment.queries.begin;
      for (std::size_t head = 0; head < segment.heads; ++head) {
        const Queries<T> here = queries_from(layout, segment.readers[head], first);
        const Queries<T> next = queries_from(layout, segment.readers[head], first + queries.size());
        chunk.load_queries(here.query, {queries.begin - position, queries.end - position});
        chunk.template read<true>(seen, here.output, {next.query, next.output});
      }
    }
    const Keys<T> next = chunk_of(layout, segment.keys, position + chunk_size);
    chunk.add_keys_to(summary, {next.key, next.value});
  }
}

template <simd::Isa isa, class T>
SegmentKernel<T> segment_kernel() {
  using Arch = simd::Architecture<isa>;
  return {
      [](const Layout<T>& layout) { return layout.summary_size() + Chunk<T, Arch>::scratch_size(layout); },
      &summarise<T, Arch>, &read<T, Arch>, &attend<T, Arch>};
}

}  // namespace attn::linear_time

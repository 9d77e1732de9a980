#include "fast/linear/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fast/exact/heads.hpp"

namespace attn::linear_time {

// Kernel 2: chunks of tokens at a time, so that all work is products of small matrices. S is read and written
// once a chunk, and a number that is loaded into a register is used many times. A causal chunk adds what its
// queries see of its own keys through masked weights, φ(Q) φ(K)ᵀ, of a few tokens.
//
// The sequence is cut into segments at places that depend on its length alone, and S is the sum of their
// states from the first to the last. So several threads can work on one head and no digit depends on their
// number, and sums of many tokens stay exact, because few numbers are added to a sum much larger than they
// are.

namespace {

/// A sequence, cut where its length says.
std::vector<Range> segments_of(std::size_t length) {
  const std::size_t chunks = fast::block_count(length, chunk_size);
  return fast::cut(length, std::max(segment_size, fast::block_count(chunks, most_segments) * chunk_size));
}

template <class T>
class SegmentedCall {
 public:
  explicit SegmentedCall(const Call<T>& problem)
      : problem_(problem),
        sizes_(problem.sizes),
        layout_{sizes_.d_k, sizes_.d_v, problem.are_features},
        key_segments_(segments_of(sizes_.n_k)),
        query_segments_(segments_of(sizes_.n_q)) {}

  /// Pairs are those of a sample and a key/value head. Where there are enough of them, each thread takes a
  /// whole one: it then meets the keys of a causal segment once only.
  void run() const {
    const std::size_t pairs = sizes_.samples * sizes_.kv_heads;
    if (problem_.visible.causal) clear_queries_before_first_key();
    if (problem_.visible.causal && pairs >= static_cast<std::size_t>(std::max(problem_.threads, 1)))
      return for_each_task(pairs, problem_.threads, [&](std::size_t pair) { attend_causally(pair); });
    const std::size_t together = std::max<std::size_t>(1, most_segments / (key_segments_.size() + 1));
    for (std::size_t pair = 0; pair < pairs; pair += together)
      attend_in_parts({pair, std::min(pair + together, pairs)});
  }

 private:
  using Scratch = simd::Scratch<T>;

  /// One segment after the other.
  void attend_causally(std::size_t pair) const {
    Scratch before(layout_.state_size()), state(layout_.state_size());
    std::fill_n(before.data(), layout_.state_size(), T{0});
    for (const auto& segment : key_segments_) {
      attend_segment(pair, segment, before.data(), state.data());
      add(state.data(), before.data());
    }
  }

  /// All segments at once: first their states, then the outputs.
  void attend_in_parts(Range pairs) const {
    const std::size_t segments = key_segments_.size(), size = layout_.state_size();
    Scratch sums(pairs.size() * (segments + 1) * size);
    const auto sum_before = [&](std::size_t pair, std::size_t segment) {
      return sums.data() + ((pair - pairs.begin) * (segments + 1) + segment) * size;
    };
    for_each(pairs, segments, [&](std::size_t pair, std::size_t index) {
      attend({.keys = keys_in(pair, key_segments_[index])}, sum_before(pair, index + 1));
    });
    for (std::size_t pair = pairs.begin; pair < pairs.end; ++pair) {
      std::fill_n(sum_before(pair, 0), size, T{0});
      for (std::size_t index = 0; index < segments; ++index)
        add(sum_before(pair, index), sum_before(pair, index + 1));
    }
    if (problem_.visible.causal)
      for_each(pairs, segments, [&](std::size_t pair, std::size_t index) {
        Scratch state(size);
        attend_segment(pair, key_segments_[index], sum_before(pair, index), state.data());
      });
    else
      for_each(pairs, query_segments_.size(), [&](std::size_t pair, std::size_t index) {
        read(pair, query_segments_[index], sum_before(pair, segments));
      });
  }

  template <class Work>
  void for_each(Range pairs, std::size_t segments, const Work& work) const {
    for_each_task(pairs.size() * segments, problem_.threads,
                  [&](std::size_t task) { work(pairs.begin + task / segments, task % segments); });
  }

  void attend(const CausalSegment<T>& segment, T* state) const {
    Scratch scratch(kernel_.scratch_size(layout_));
    kernel_.attend(layout_, segment, state, scratch.data());
  }

  void read(std::size_t pair, Range queries, const T* state) const {
    Scratch scratch(kernel_.scratch_size(layout_));
    for (const auto& reader : readers_of(pair, queries.begin))
      kernel_.read(layout_, state, reader, queries.size(), scratch.data());
  }

  void attend_segment(std::size_t pair, Range positions, const T* before, T* state) const {
    const Range queries = common(positions, {first_position(), sizes_.n_k});
    const auto readers = readers_of(pair, queries.begin - first_position() + queries_before_first_key());
    const Range within = {queries.begin - positions.begin, queries.end - positions.begin};
    attend({.keys = keys_in(pair, positions),
            .queries = queries.empty() ? Range{} : within,
            .readers = readers.data(),
            .heads = readers.size(),
            .before = before},
           state);
  }

  /// sum += state
  void add(const T* state, T* sum) const {
    for (std::size_t i = 0; i < layout_.state_size(); ++i) sum[i] += state[i];
  }

  std::size_t queries_before_first_key() const { return sizes_.n_q - std::min(sizes_.n_q, sizes_.n_k); }

  /// Of the first query that stands at a key.
  std::size_t first_position() const { return sizes_.n_k - std::min(sizes_.n_q, sizes_.n_k); }

  void clear_queries_before_first_key() const {
    for (std::size_t head = 0; head < sizes_.samples * sizes_.heads; ++head)
      std::fill_n(problem_.output + head * sizes_.n_q * sizes_.d_v, queries_before_first_key() * sizes_.d_v,
                  T{0});
  }

  /// A query head that reads a pair's keys.
  exact::Head<T> head_of_pair(std::size_t pair, std::size_t member) const {
    return exact::head_of(problem_, pair * (sizes_.heads / sizes_.kv_heads) + member);
  }

  /// Without padding.
  Keys<T> keys_in(std::size_t pair, Range positions) const {
    const auto head = head_of_pair(pair, 0);
    const auto& lengths = problem_.visible.key_lengths;
    const Range real = common(positions, {0, lengths.empty() ? sizes_.n_k : lengths[head.sample]});
    return {head.key + real.begin * sizes_.d_k, head.value + real.begin * sizes_.d_v, real.size()};
  }

  /// The heads that read a pair's keys, from a query on.
  std::vector<Queries<T>> readers_of(std::size_t pair, std::size_t query) const {
    std::vector<Queries<T>> readers;
    for (std::size_t member = 0; member < sizes_.heads / sizes_.kv_heads; ++member) {
      const auto head = head_of_pair(pair, member).from(query, sizes_);
      readers.push_back({head.query, head.output});
    }
    return readers;
  }

  const Call<T>& problem_;
  const Sizes& sizes_;
  Layout<T> layout_;
  SegmentKernel<T> kernel_ = simd::for_isa_in_use([](auto isa) { return segment_kernel<isa(), T>(); });
  std::vector<Range> key_segments_, query_segments_;
};

template <class T>
void simd_forward(const Call<T>& problem) {
  SegmentedCall<T>(problem).run();
}

/// Kernel 1. A key is added to the state, S and z, and a query reads that: after all keys, or, if causal,
/// after its own. Each token reads or writes all of S, for two operations a number.
template <class T>
void attend(const Call<T>& problem, const exact::Head<T>& head) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  std::vector<T> S(d_k * d_v), z(d_k);
  const auto feature = [&](T x) {
    if (problem.are_features) return x;
    return x > T{0} ? x + T{1} : std::exp(x);
  };
  std::size_t added = 0;
  for (std::size_t i = 0; i < problem.sizes.n_q; ++i) {
    for (; added < visible_keys(problem.sizes, problem.visible, head.sample, i).end; ++added)
      for (std::size_t a = 0; a < d_k; ++a) {
        const T phi_k = feature(head.key[added * d_k + a]);
        for (std::size_t b = 0; b < d_v; ++b) S[a * d_v + b] += phi_k * head.value[added * d_v + b];
        z[a] += phi_k;
      }
    T *output = head.output + i * d_v, sum = 0;
    std::fill_n(output, d_v, T{0});
    for (std::size_t a = 0; a < d_k; ++a) {
      const T phi_q = feature(head.query[i * d_k + a]);
      for (std::size_t b = 0; b < d_v; ++b) output[b] += phi_q * S[a * d_v + b];
      sum += phi_q * z[a];
    }
    if (sum == T{0}) continue;
    for (std::size_t b = 0; b < d_v; ++b) output[b] /= sum;
  }
}

template <class T>
void plain_forward(const Call<T>& problem) {
  exact::for_each_head(problem, 1, [&](const exact::Head<T>& head, std::size_t) { attend(problem, head); });
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {{.name = "plain", .forward = {plain_forward, plain_forward}},
                                            {.name = "simd", .forward = {simd_forward, simd_forward}}};
  return table;
}

double operations(const Sizes& sizes) {
  const auto heads = static_cast<double>(sizes.samples * sizes.heads);
  const auto tokens = static_cast<double>(sizes.n_q + sizes.n_k);
  return heads * tokens * 2.0 * static_cast<double>(sizes.d_k * sizes.d_v);
}

}  // namespace attn::linear_time

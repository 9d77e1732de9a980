// Kernel 2: the scores of all queries of a head at once, as a matrix product, and the output as another. BLAS
// cuts a product into blocks that stay in the caches and the registers, so that a number that was read is
// used many times: the products run near the processor's peak. The cost is the whole n × n scores, which are
// written to memory and read again in each pass of the softmax; hidden scores are computed too.
//
// Kernel 3: the same products, tile by tile, and never more scores than one tile. A running maximum and sum
// make a softmax of pieces: when a later tile raises the maximum, what was summed so far is scaled down
// (Milakov & Gimelshein 2018; Dao et al. 2022). A tile stays in the cache from its product to its
// exponentials and the product with the values, so memory traffic no longer grows with n²; tiles that are
// hidden altogether are skipped. What still costs time: BLAS packs its operands for every tile, and
// exponentials are computed one at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "fast/exact/heads.hpp"
#include "fast/gemm.hpp"

namespace attn::exact {

namespace {

using fast::Matrix;

/// The largest tile of a kernel. That of kernel 2 is the whole.
struct Tiling {
  std::size_t queries, keys;
};

Tiling small_tiles(const Sizes&) {
  return {64, 128};
}

Tiling one_tile(const Sizes& sizes) {
  return {sizes.n_q, std::max<std::size_t>(sizes.n_k, 1)};
}

/// A block of queries against a block of keys, of which each query sees some.
struct Tile {
  Range queries;
  Range keys;
};

/// Calls `work(tile)` for all tiles of a block of queries in which something can be seen, in order.
template <class T, class Work>
void for_each_tile(const Call<T>& problem, const Tiling& tiling, const Head<T>& head, const Range& queries,
                   const Work& work) {
  const Range keys = visible_keys(problem.sizes, problem.visible, head.sample, queries);
  for (std::size_t begin = keys.begin; begin < keys.end; begin += tiling.keys)
    work(Tile{queries, {begin, std::min(begin + tiling.keys, keys.end)}});
}

template <class T>
Matrix<T> rows(const T* matrix, const Range& range, std::size_t columns) {
  return {matrix + range.begin * columns, range.size(), columns};
}

/// The part of a tile's row that its query sees, as positions within the tile.
template <class T>
Range visible_columns(const Call<T>& problem, const Head<T>& head, std::size_t query, const Range& tile) {
  const Range keys = fast::common(visible_keys(problem.sizes, problem.visible, head.sample, query), tile);
  return {keys.begin - tile.begin, keys.end - tile.begin};
}

/// The softmax of a row of scores that comes in pieces, and the output that it weighs.
template <class T>
class RunningWeights {
 public:
  /// Turns a piece into weights relative to the maximum so far, 0 where the key is hidden, and scales
  /// `output` [d_v] down to the same maximum.
  void add(T* row, std::size_t length, const Range& visible, T* output, std::size_t d_v) {
    T* const begin = row + visible.begin;
    T* const end = row + visible.end;
    std::fill(row, begin, T{0});
    std::fill(end, row + length, T{0});
    if (visible.empty()) return;
    raise_maximum(*std::max_element(begin, end), output, d_v);
    for (T* weight = begin; weight != end; ++weight) sum_ += * weight = std::exp(*weight - maximum_);
  }

  /// Divides the output by the sum of the weights.
  void finish(T* output, std::size_t d_v) const {
    if (sum_ > T{0}) std::transform(output, output + d_v, output, [this](T x) { return x / sum_; });
  }

  T log_sum_exp() const { return maximum_ + std::log(sum_); }

 private:
  void raise_maximum(T score, T* output, std::size_t d_v) {
    if (score <= maximum_) return;
    const T rescaling = std::exp(maximum_ - score);
    sum_ *= rescaling;
    std::transform(output, output + d_v, output, [rescaling](T x) { return x * rescaling; });
    maximum_ = score;
  }

  T maximum_ = -std::numeric_limits<T>::infinity();
  T sum_ = 0;
};

template <class T>
void attend(const Call<T>& problem, const Tiling& tiling, const Head<T>& head, const Range& queries) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  std::vector<T> weights(queries.size() * std::min(tiling.keys, problem.sizes.n_k));
  std::vector<RunningWeights<T>> softmax(queries.size());
  T* const output = head.output + queries.begin * d_v;
  std::fill_n(output, queries.size() * d_v, T{0});

  for_each_tile(problem, tiling, head, queries, [&](const Tile& tile) {
    const std::size_t length = tile.keys.size();
    multiply(problem.scale, rows(head.query, queries, d_k), transposed(rows(head.key, tile.keys, d_k)),
             weights.data());
    for (std::size_t i = 0; i < queries.size(); ++i)
      softmax[i].add(weights.data() + i * length, length,
                     visible_columns(problem, head, queries.begin + i, tile.keys), output + i * d_v, d_v);
    add_product({weights.data(), queries.size(), length}, rows(head.value, tile.keys, d_v), output);
  });

  for (std::size_t i = 0; i < queries.size(); ++i) {
    softmax[i].finish(output + i * d_v, d_v);
    if (head.log_sum_exp != nullptr) head.log_sum_exp[queries.begin + i] = softmax[i].log_sum_exp();
  }
}

/// The buffers of the backward pass of a block of queries.
template <class T>
struct BackwardBuffers {
  explicit BackwardBuffers(const Tiling& its_tiling)
      : tiling(its_tiling),
        weights(tiling.queries * tiling.keys),
        d_scores(weights.size()),
        weight_sums(tiling.queries) {}

  Tiling tiling;
  std::vector<T> weights, d_scores;
  std::vector<T> weight_sums;  ///< what weights are to be divided by
};

/// Computes the weights of a tile again, 0 where the key is hidden.
template <class T>
void weigh(const Call<T>& problem, const Head<T>& head, const Tile& tile, BackwardBuffers<T>& buffers) {
  const std::size_t d_k = problem.sizes.d_k, length = tile.keys.size();
  multiply(problem.scale, rows(head.query, tile.queries, d_k), transposed(rows(head.key, tile.keys, d_k)),
           buffers.weights.data());
  for (std::size_t i = 0; i < tile.queries.size(); ++i) {
    const std::size_t query = tile.queries.begin + i;
    const Range visible = visible_columns(problem, head, query, tile.keys);
    const T log_sum_exp = head.log_sum_exp[query], sum = buffers.weight_sums[i];
    T* const row = buffers.weights.data() + i * length;
    std::fill(row, row + visible.begin, T{0});
    std::fill(row + visible.end, row + length, T{0});
    std::transform(row + visible.begin, row + visible.end, row + visible.begin,
                   [=](T score) { return std::exp(score - log_sum_exp) / sum; });
  }
}

/// A log-sum-exp is rounded, which makes all weights of a query wrong by the same factor. Where it is so
/// large that this matters, they are summed in a pass of their own.
template <class T>
void sum_weights(const Call<T>& problem, const Head<T>& head, const Range& queries,
                 BackwardBuffers<T>& buffers) {
  std::fill(buffers.weight_sums.begin(), buffers.weight_sums.end(), T{1});
  const T* log_sum_exp = head.log_sum_exp;
  if (problem.is_part || std::none_of(log_sum_exp + queries.begin, log_sum_exp + queries.end,
                                      [](T x) { return std::isfinite(x) && std::abs(x) > T{32}; }))
    return;
  std::vector<T> sums(queries.size());
  for_each_tile(problem, buffers.tiling, head, queries, [&](const Tile& tile) {
    weigh(problem, head, tile, buffers);
    const T* row = buffers.weights.data();
    for (T& sum : sums) {
      sum = std::accumulate(row, row + tile.keys.size(), sum);
      row += tile.keys.size();
    }
  });
  std::transform(sums.begin(), sums.end(), buffers.weight_sums.begin(),
                 [](T sum) { return sum > T{0} ? sum : T{1}; });
}

/// Turns the gradients of weights into those of the products q·k: ds = scale · w (dw − do·o).
template <class T>
void softmax_backward(const Call<T>& problem, const Head<T>& head, const Tile& tile,
                      BackwardBuffers<T>& buffers) {
  const std::size_t d_v = problem.sizes.d_v, length = tile.keys.size();
  for (std::size_t i = 0; i < tile.queries.size(); ++i) {
    const T* d_output = head.d_output + (tile.queries.begin + i) * d_v;
    const T* output = head.output + (tile.queries.begin + i) * d_v;
    const T mean = std::inner_product(d_output, d_output + d_v, output, T{0});
    const T* weights = buffers.weights.data() + i * length;
    T* d_scores = buffers.d_scores.data() + i * length;
    std::transform(weights, weights + length, d_scores, d_scores,
                   [&](T weight, T d_weight) { return problem.scale * weight * (d_weight - mean); });
  }
}

template <class T>
void attend_backward(const Call<T>& problem, const Head<T>& head, const Tile& tile,
                     BackwardBuffers<T>& buffers) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  const Matrix<T> query = rows(head.query, tile.queries, d_k);
  const Matrix<T> key = rows(head.key, tile.keys, d_k);
  const Matrix<T> value = rows(head.value, tile.keys, d_v);
  const Matrix<T> d_output = rows(head.d_output, tile.queries, d_v);
  weigh(problem, head, tile, buffers);
  multiply(T{1}, d_output, transposed(value), buffers.d_scores.data());
  softmax_backward(problem, head, tile, buffers);

  const Matrix<T> weights = {buffers.weights.data(), query.rows, key.rows};
  const Matrix<T> d_scores = {buffers.d_scores.data(), query.rows, key.rows};
  add_product(transposed(weights), d_output, head.d_value + tile.keys.begin * d_v);
  add_product(d_scores, key, head.d_query + tile.queries.begin * d_k);
  add_product(transposed(d_scores), query, head.d_key + tile.keys.begin * d_k);
}

template <Tiling (*tiling_of)(const Sizes&), class T>
void forward(const Call<T>& problem) {
  const Tiling tiling = tiling_of(problem.sizes);
  const fast::SingleThreadedBlas single_threaded;
  const auto blocks = fast::cut(problem.sizes.n_q, tiling.queries);
  for_each_head(problem, blocks.size(),
                [&](const Head<T>& head, std::size_t part) { attend(problem, tiling, head, blocks[part]); });
}

template <Tiling (*tiling_of)(const Sizes&), class T>
void backward(const Call<T>& problem) {
  const Tiling tiling = tiling_of(problem.sizes);
  const fast::SingleThreadedBlas single_threaded;
  for_each_group(problem, [&](const std::vector<Head<T>>& heads) {
    BackwardBuffers<T> buffers(tiling);
    for (const auto& head : heads)
      for (const Range& queries : fast::cut(problem.sizes.n_q, tiling.queries)) {
        sum_weights(problem, head, queries, buffers);
        for_each_tile(problem, tiling, head, queries,
                      [&](const Tile& tile) { attend_backward(problem, head, tile, buffers); });
      }
  });
}

}  // namespace

Kernel blas_kernel() {
  return {.name = "blas",
          .fits =
              [](const Sizes& sizes) {  // 2^29 scores are 4 GiB in float64
                return sizes.n_k == 0 || sizes.n_q <= (std::size_t{1} << 29) / sizes.n_k;
              },
          .limits = "up to 2^29 scores of a head",
          .forward = {forward<one_tile>, forward<one_tile>},
          .backward = {backward<one_tile>, backward<one_tile>}};
}

Kernel tiled_kernel() {
  return {.name = "tiled",
          .forward = {forward<small_tiles>, forward<small_tiles>},
          .backward = {backward<small_tiles>, backward<small_tiles>}};
}

}  // namespace attn::exact

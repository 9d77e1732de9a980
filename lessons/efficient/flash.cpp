/// Flash attention: exact, in tiles, with a softmax that runs along the keys.
/// Sources: Milakov & Gimelshein 2018 (the running softmax), Dao et al. 2022.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "lessons/efficient.hpp"

namespace lessons {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Queries or keys begin, …, end − 1.
struct Block {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

std::vector<Block> blocks_of(std::size_t n, std::size_t size) {
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < n; begin = blocks.back().end)
    blocks.push_back({begin, begin + std::min(size, n - begin)});
  return blocks;
}

/// Which keys the queries of one attention see.
struct Visible {
  std::size_t n_q, n_k;
  bool causal;

  /// The keys of a block that query i sees: its first ones, all of them or none.
  Block keys(std::size_t i, const Block& block) const {
    if (!causal) return block;
    const std::size_t first_hidden = i + n_k + 1 > n_q ? i + n_k + 1 - n_q : 0;
    return {block.begin, std::clamp(first_hidden, block.begin, block.end)};
  }

  bool any(const Block& queries, const Block& block) const { return keys(queries.end - 1, block).size() > 0; }
};

/// The softmax of one query's scores times the values, block by block: only m, l and o are kept.
class RunningSoftmax {
 public:
  RunningSoftmax(std::size_t d_v, CostCounter& counter) : output_(d_v, 0.0), counter_(counter) {}

  /// Goes on with the scores of some keys in a row, and the matrix of all values [key×d_v].
  void add(const double* scores, const Tensor<2>& V, const Block& keys) {
    const double maximum = std::max(maximum_, *std::max_element(scores, scores + keys.size()));
    if (maximum_ != -infinity) rescale(std::exp(maximum_ - maximum));
    maximum_ = maximum;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const double weight = std::exp(scores[j] - maximum);
      sum_ += weight;
      counter_.add_product(weight, {V.data() + (keys.begin + j) * V.shape(1), V.shape(1)}, output_.data());
    }
  }

  /// o / l [d_v]; zeros where no key was seen.
  void write_output(double* output) const {
    const double sum = sum_ == 0.0 ? 1.0 : sum_;
    std::transform(output_.begin(), output_.end(), output, [sum](double o) { return o / sum; });
  }

 private:
  /// What was summed relative to the old maximum is smaller relative to the new one.
  void rescale(double factor) {
    sum_ = counter_.scale(factor, sum_);
    counter_.scale(factor, output_);
  }

  double maximum_ = -infinity;  ///< m
  double sum_ = 0.0;            ///< l
  std::vector<double> output_;  ///< o
  CostCounter& counter_;
};

/// Records an operation that reads the keys of a block and what the query's operation before it left.
CostCounter::Node record_operation(const Block& keys, std::optional<CostCounter::Node> before,
                                   CostCounter& counter) {
  if (!counter.records()) return 0;
  std::vector<CostCounter::Node> inputs(keys.size());
  std::iota(inputs.begin(), inputs.end(), keys.begin);
  if (before) inputs.push_back(*before);
  return counter.operation(inputs);
}

}  // namespace

Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, std::size_t block,
                          bool causal, CostCounter& counter) {
  const Visible visible = {Q.shape(0), K.shape(0), causal};
  const auto blocks_of_keys = blocks_of(visible.n_k, block);
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  std::vector<std::size_t> numbers(visible.n_k);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  Tensor<2> output({Q.shape(0), V.shape(1)}),
      tile({std::min(block, visible.n_q), std::min(block, visible.n_k)});
  for (const auto& queries : blocks_of(visible.n_q, block)) {
    std::vector<RunningSoftmax> running(queries.size(), RunningSoftmax(V.shape(1), counter));
    std::vector<std::optional<CostCounter::Node>> operations(queries.size());
    for (const auto& keys : blocks_of_keys) {
      if (!visible.any(queries, keys)) break;
      const auto held = counter.hold(queries.size() * keys.size());
      for (std::size_t row = 0; row < queries.size(); ++row) {
        const auto seen = visible.keys(queries.begin + row, keys);
        if (seen.size() == 0) continue;
        auto* const scores = &tile(row, 0);
        counter.multiply_rows(&Q(queries.begin + row, 0), K, {&numbers[seen.begin], seen.size()}, scores);
        std::transform(scores, scores + seen.size(), scores, [root](double score) { return score / root; });
        running[row].add(scores, V, seen);
        operations[row] = record_operation(seen, operations[row], counter);
      }
    }
    for (std::size_t row = 0; row < queries.size(); ++row) {
      running[row].write_output(&output(queries.begin + row, 0));
      if (operations[row]) counter.output(*operations[row], queries.begin + row);
    }
  }
  return output;
}

}  // namespace lessons

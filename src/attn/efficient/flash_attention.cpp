#include "attn/efficient/flash_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/efficient/attend.hpp"

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Queries or keys begin, …, end − 1.
struct Block {
  std::size_t number, begin, end;
  std::size_t size() const { return end - begin; }
};

std::vector<Block> blocks_of(std::size_t n, std::size_t size) {
  if (size == 0) throw std::invalid_argument("[flash_attention] blocks of 0 have no end");
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < n; begin = blocks.back().end)
    blocks.push_back({blocks.size(), begin, begin + std::min(size, n - begin)});
  return blocks;
}

/// A query on its way through the blocks of keys.
class RunningQuery {
 public:
  RunningQuery(std::size_t number, std::size_t d_v, Meter& meter)
      : number_(number), accumulated_(d_v), meter_(meter) {}

  /// Goes on with the scores of the keys of one block.
  void add(std::span<double> scores, const double* values) {
    const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
    raise_maximum(std::max(maximum_, largest));
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const double weight = std::exp(static_cast<double>(scores[k]) - maximum_);
      sum_ += weight;
      meter_.add_scaled(weight, values + k * accumulated_.size(), std::span(accumulated_));
    }
  }

  /// Zeros where no key was seen.
  void write(double* output) const {
    const double divisor = sum_ == 0.0 ? 1.0 : sum_;
    std::transform(accumulated_.begin(), accumulated_.end(), output,
                   [&](double element) { return static_cast<double>(element / divisor); });
  }

  std::size_t number() const { return number_; }

  FlashState state(std::span<const double> scores) const {
    return {scores, maximum_, rescaling_, sum_, accumulated_};
  }

  /// Every block is an operation that reads the one before it.
  Wiring::Node next_operation() {
    const auto operation = meter_.operation();
    if (operation_) meter_.read(operation, *operation_);
    operation_ = operation;
    return operation;
  }
  std::optional<Wiring::Node> operation() const { return operation_; }

 private:
  /// What was summed relative to the old maximum is smaller relative to the new one.
  void raise_maximum(double maximum) {
    rescaling_ = std::exp(maximum_ - maximum);
    if (maximum_ != -infinity) {
      meter_.scale(rescaling_, std::span(&sum_, 1));
      meter_.scale(rescaling_, std::span(accumulated_));
    }
    maximum_ = maximum;
  }

  std::size_t number_;
  double maximum_ = -infinity, rescaling_ = 0.0, sum_ = 0.0;
  std::vector<double> accumulated_;
  Meter& meter_;
  std::optional<Wiring::Node> operation_;
};

/// How many of the keys of a block query i sees.
std::size_t visible_keys(const Block& keys, std::size_t i, std::size_t n_q, std::size_t n_k, bool causal) {
  if (!causal) return keys.size();
  const std::size_t end = i + n_k + 1 > n_q ? i + n_k + 1 - n_q : 0;  // the first key that is hidden
  return std::clamp(end, keys.begin, keys.end) - keys.begin;
}

}  // namespace

Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                             std::size_t block, bool causal, Meter& meter,
                             const std::type_identity_t<FlashWatcher>& watch) {
  require_fitting("flash_attention", Q, K, V);
  const std::size_t n_q = Q.shape(0), n_k = K.shape(0), d_k = Q.shape(1), d_v = V.shape(1);
  const double divisor = std::sqrt(static_cast<double>(d_k));
  Tensor<2> output({n_q, d_v});

  for (const Block& queries : blocks_of(n_q, block)) {
    std::vector<RunningQuery> running;
    for (std::size_t i = queries.begin; i < queries.end; ++i) running.emplace_back(i, d_v, meter);

    for (const Block& keys : blocks_of(n_k, block)) {
      if (visible_keys(keys, queries.end - 1, n_q, n_k, causal) == 0) break;
      auto tile = meter.hold(queries.size() * keys.size());
      for (auto& query : running) {
        const std::size_t i = query.number(), visible = visible_keys(keys, i, n_q, n_k, causal);
        if (visible == 0) continue;
        const auto scores = tile.part((i - queries.begin) * keys.size(), visible);
        const auto operation = query.next_operation();
        for (std::size_t k = 0; k < visible; ++k) {
          const std::size_t j = keys.begin + k;
          scores[k] = static_cast<double>(meter.dot(Q.data() + i * d_k, K.data() + j * d_k, d_k) / divisor);
          meter.read_token(operation, j);
        }
        query.add(scores, V.data() + keys.begin * d_v);
        if (watch) watch(keys.number, i, query.state(std::span<const double>(scores)));
      }
    }

    for (const auto& query : running) {
      query.write(output.data() + query.number() * d_v);
      if (query.operation()) meter.deliver(*query.operation(), query.number());
    }
  }
  return output;
}

namespace {

/// Writes down what flash attention goes through.
class FlashRecorder {
 public:
  FlashRecorder(std::size_t n_q, std::size_t n_k, std::size_t d_v, std::size_t block) : block_(block) {
    const std::size_t blocks = blocks_of(n_k, block).size();
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    history.scores = Tensor<2>({n_q, n_k}, lowest);
    history.tile = Integers<2>({n_q, n_k}, 0);
    history.maximum = Tensor<2>({blocks, n_q}, lowest);
    history.rescaling = Tensor<2>({blocks, n_q}, double{1});
    history.sum = Tensor<2>({blocks, n_q}, double{0});
    history.accumulated = Tensor<2>({blocks, d_v}, double{0});
  }

  void record(std::size_t key_block, std::size_t query, const FlashState& state) {
    count(key_block, query, state);
    for (std::size_t k = 0; k < state.scores.size(); ++k) {
      history.scores(query, key_block * block_ + k) = state.scores[k];
      history.tile(query, key_block * block_ + k) = history.tiles;
    }
    history.rescaling(key_block, query) = static_cast<double>(state.rescaling);
    for (std::size_t later = key_block; later < history.maximum.shape(0); ++later) {
      history.maximum(later, query) = static_cast<double>(state.maximum);
      history.sum(later, query) = static_cast<double>(state.sum);
    }
    if (query + 1 == history.maximum.shape(1))
      std::transform(state.accumulated.begin(), state.accumulated.end(), &history.accumulated(key_block, 0),
                     [](double element) { return static_cast<double>(element); });
  }

  FlashHistory history;

 private:
  void count(std::size_t key_block, std::size_t query, const FlashState& state) {
    const std::pair place = {query / block_, key_block};
    if (place != place_) ++history.tiles;
    place_ = place;
    const bool is_first = key_block == 0;
    ++(is_first ? history.beginnings : state.rescaling == 1.0 ? history.unchanged : history.rescalings);
  }

  std::size_t block_;
  std::optional<std::pair<std::size_t, std::size_t>> place_;  ///< of the tile: query block, key block
};

}  // namespace

FlashHistory flash_history(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                              std::size_t block, bool causal, Meter& meter) {
  FlashRecorder recorder(Q.shape(0), K.shape(0), V.shape(1), block);
  recorder.history.output =
      flash_attention(Q, K, V, block, causal, meter,
                      [&](std::size_t key_block, std::size_t query, const FlashState& state) {
                        recorder.record(key_block, query, state);
                      });
  return recorder.history;
}


}  // namespace attn

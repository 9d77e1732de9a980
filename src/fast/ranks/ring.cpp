#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "fast/exact/kernels.hpp"

namespace attn::fast {

namespace {

using Positions = std::vector<std::size_t>;

/// Part `index` of a sequence that is cut into `count` parts of nearly one length.
Positions part_of(std::size_t n, std::size_t index, std::size_t count) {
  const std::size_t begin = index * n / count, end = (index + 1) * n / count;
  Positions positions(end - begin);
  std::iota(positions.begin(), positions.end(), begin);
  return positions;
}

Positions every(std::size_t step, std::size_t first, std::size_t n) {
  Positions positions;
  for (std::size_t position = first; position < n; position += step) positions.push_back(position);
  return positions;
}

Positions from_both_ends(std::size_t n, std::size_t rank, std::size_t ranks) {
  auto positions = part_of(n, rank, 2 * ranks);
  const auto last = part_of(n, 2 * ranks - 1 - rank, 2 * ranks);
  positions.insert(positions.end(), last.begin(), last.end());
  return positions;
}

}  // namespace

std::string_view name_of(Order order) {
  constexpr std::string_view names[] = {"contiguous", "striped", "zigzag"};
  return names[static_cast<std::size_t>(order)];
}

const std::vector<Order>& all_orders() {
  static const std::vector<Order> orders = {Order::contiguous, Order::striped, Order::zigzag};
  return orders;
}

std::vector<Positions> blocks_of(Order order, std::size_t n, std::size_t ranks) {
  std::vector<Positions> blocks;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    blocks.push_back(order == Order::striped  ? every(ranks, rank, n)
                     : order == Order::zigzag ? from_both_ends(n, rank, ranks)
                                              : part_of(n, rank, ranks));
  return blocks;
}

std::size_t owner_at_hop(std::size_t rank, std::size_t hop, std::size_t ranks) {
  return (rank + ranks - hop % ranks) % ranks;
}

namespace {

std::size_t next_of(std::size_t rank, std::size_t ranks) {
  return (rank + 1) % ranks;
}

/// The positions of all ranks, and what follows from them.
class Ring {
 public:
  Ring(const RingProblem& problem, std::size_t ranks)
      : problem_(problem), positions_(blocks_of(problem.order, problem.sizes.n_k, ranks)) {
    if (problem.sizes.n_q != problem.sizes.n_k)
      throw std::invalid_argument(fmt::format("[ring] {} queries and {} keys; a ring is one sequence",
                                              problem.sizes.n_q, problem.sizes.n_k));
  }

  std::size_t ranks() const { return positions_.size(); }
  std::size_t next(std::size_t rank) const { return next_of(rank, ranks()); }
  std::size_t owner(std::size_t rank, std::size_t hop) const { return owner_at_hop(rank, hop, ranks()); }
  std::size_t rows(std::size_t rank) const { return positions_[rank].size(); }

  /// Those of one rank's queries and another's keys.
  Sizes sizes(std::size_t queries_of, std::size_t keys_of) const {
    Sizes sizes = problem_.sizes;
    sizes.n_q = rows(queries_of);
    sizes.n_k = rows(keys_of);
    return sizes;
  }

  Visibility visible(std::size_t queries_of, std::size_t keys_of) const {
    Visibility visible = problem_.visible;
    visible.query_positions = positions_[queries_of];
    visible.key_positions = positions_[keys_of];
    return visible;
  }

  /// Pairs of these queries and keys that are seen, in one head.
  std::uint64_t pairs(std::size_t queries_of, std::size_t keys_of) const {
    const auto sizes = this->sizes(queries_of, keys_of);
    const auto visible = this->visible(queries_of, keys_of);
    std::uint64_t pairs = 0;
    if (sizes.n_k == 0) return pairs;
    for (std::size_t sample = 0; sample < sizes.samples; ++sample)
      for (std::size_t query = 0; query < sizes.n_q; ++query)
        pairs += visible_keys(sizes, visible, sample, query).size();
    return pairs;
  }

  std::size_t key_numbers(std::size_t rank) const {
    return problem_.sizes.samples * problem_.sizes.kv_heads * rows(rank) * problem_.sizes.d_k;
  }
  std::size_t value_numbers(std::size_t rank) const {
    return problem_.sizes.samples * problem_.sizes.kv_heads * rows(rank) * problem_.sizes.d_v;
  }

  /// Numbers of the keys and values of a rank.
  std::size_t numbers(std::size_t rank) const { return key_numbers(rank) + value_numbers(rank); }

 private:
  const RingProblem& problem_;
  std::vector<Positions> positions_;
};

/// What goes round the ring: for each rank played here the numbers that it has at this hop, a block of keys
/// and the values behind it or their gradients, and room for those that come next.
template <class T>
class Travelling {
 public:
  Travelling(const Ring& ring, Network& network) : ring_(ring), network_(network) {
    at_.resize(network.here().size());
    coming_.resize(at_.size());
  }

  std::vector<T>& at(std::size_t rank) { return at_[rank - network_.here().begin]; }

  /// What arrived last: call `arrive` first.
  const std::vector<T>& came(std::size_t rank) const { return coming_[rank - network_.here().begin]; }

  /// Sends what each rank has at a hop to the next rank.
  void send(std::size_t hop) {
    std::vector<Transfer> transfers;
    for (std::size_t from = 0; from < ring_.ranks(); ++from) {
      const auto to = ring_.next(from);
      if (!network_.plays(from) && !network_.plays(to)) continue;
      const auto numbers = ring_.numbers(ring_.owner(from, hop));
      if (network_.plays(to)) coming_[to - network_.here().begin].resize(numbers);
      transfers.push_back({from, to, network_.plays(from) ? at(from).data() : nullptr,
                           network_.plays(to) ? coming_[to - network_.here().begin].data() : nullptr,
                           numbers * sizeof(T)});
    }
    network_.start(transfers);
  }

  /// After the network has finished: each rank has what came.
  void arrive() { at_.swap(coming_); }

 private:
  const Ring& ring_;
  Network& network_;
  std::vector<std::vector<T>> at_, coming_;
};

template <class T>
std::vector<T> keys_and_values(const RankBlock<T>& block) {
  std::vector<T> numbers(block.key.begin(), block.key.end());
  numbers.insert(numbers.end(), block.value.begin(), block.value.end());
  return numbers;
}

std::array<std::size_t, 4> shape_of(const Sizes& sizes, std::size_t heads, std::size_t rows,
                                    std::size_t width) {
  return {sizes.samples, heads, rows, width};
}

template <class T, std::size_t N>
void require_shape(const char* name, std::size_t rank, const Array<T, N>& tensor,
                   const std::array<std::size_t, N>& expected) {
  if (std::equal(expected.begin(), expected.end(), tensor.shape().begin())) return;
  throw std::invalid_argument(fmt::format("[ring] {} of rank {} is {}; its positions ask for {}", name, rank,
                                          to_string(view_of(tensor).shape),
                                          to_string(Shape(expected.begin(), expected.end()))));
}

template <class T>
void require_blocks(const RingProblem& problem, const Ring& ring, const Network& network,
                    const std::vector<RankBlock<T>>& blocks) {
  const auto& here = network.here();
  if (blocks.size() != here.size())
    throw std::invalid_argument(
        fmt::format("[ring] {} blocks for {} ranks of this process", blocks.size(), here.size()));
  const auto& sizes = problem.sizes;
  for (std::size_t rank = here.begin; rank < here.end; ++rank) {
    const auto& block = blocks[rank - here.begin];
    const auto rows = ring.rows(rank);
    require_shape("query", rank, block.query, shape_of(sizes, sizes.heads, rows, sizes.d_k));
    require_shape("key", rank, block.key, shape_of(sizes, sizes.kv_heads, rows, sizes.d_k));
    require_shape("value", rank, block.value, shape_of(sizes, sizes.kv_heads, rows, sizes.d_v));
  }
}

/// What a rank finds at one hop.
template <class T>
struct Found {
  std::vector<T> output;       ///< [batch×head×query×d_v]
  std::vector<T> log_sum_exp;  ///< [batch×head×query]
};

template <class T>
exact::Call<T> call_of(const RingProblem& problem, const Ring& ring, std::size_t rank, std::size_t owner,
                       const RankBlock<T>& block, const std::vector<T>& keys_and_values, T* output,
                       T* log_sum_exp) {
  return {.sizes = ring.sizes(rank, owner),
          .visible = ring.visible(rank, owner),
          .scale = static_cast<T>(problem.scale),
          .query = block.query.data(),
          .key = keys_and_values.data(),
          .value = keys_and_values.data() + ring.key_numbers(owner),
          .output = output,
          .log_sum_exp = log_sum_exp,
          .threads = problem.threads};
}

/// The attention to two sets of keys from those to each: with l = exp(log_sum_exp), o = (l o + l′ o′) / (l +
/// l′).
template <class T>
void merge(RankBlock<T>& block, const Found<T>& found, std::size_t d_v) {
  T* output = block.output.data();
  T* log_sum_exp = block.log_sum_exp.data();
  for (std::size_t row = 0; row < block.log_sum_exp.size(); ++row) {
    const T before = log_sum_exp[row], added = found.log_sum_exp[row];
    if (added == -std::numeric_limits<T>::infinity()) continue;
    const T larger = std::max(before, added);
    const T sum = larger + std::log(std::exp(before - larger) + std::exp(added - larger));
    const T keep = std::exp(before - sum), take = std::exp(added - sum);
    for (std::size_t c = row * d_v; c < (row + 1) * d_v; ++c)
      output[c] = keep * output[c] + take * found.output[c];
    log_sum_exp[row] = sum;
  }
}

}  // namespace

template <class T>
void ring_forward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks) {
  const Ring ring(problem, network.ranks());
  require_blocks(problem, ring, network, blocks);
  const auto& sizes = problem.sizes;
  const auto& here = network.here();
  const auto& kernel = exact::fastest(sizes);
  Travelling<T> travelling(ring, network);
  for (std::size_t rank = here.begin; rank < here.end; ++rank) {
    auto& block = blocks[rank - here.begin];
    travelling.at(rank) = keys_and_values(block);
    block.output = Array<T, 4>(shape_of(sizes, sizes.heads, ring.rows(rank), sizes.d_v), T{0});
    block.log_sum_exp = Array<T, 3>(std::array{sizes.samples, sizes.heads, ring.rows(rank)},
                                    -std::numeric_limits<T>::infinity());
  }
  Found<T> found;
  for (std::size_t hop = 0; hop < network.ranks(); ++hop) {
    const bool is_last = hop + 1 == network.ranks();
    if (!is_last) travelling.send(hop);
    for (std::size_t rank = here.begin; rank < here.end; ++rank) {
      const auto owner = ring.owner(rank, hop);
      if (ring.pairs(rank, owner) == 0) continue;
      auto& block = blocks[rank - here.begin];
      found.output.resize(block.output.size());
      found.log_sum_exp.resize(block.log_sum_exp.size());
      kernel.forward(call_of(problem, ring, rank, owner, block, travelling.at(rank), found.output.data(),
                             found.log_sum_exp.data()));
      merge(block, found, sizes.d_v);
    }
    if (is_last) continue;
    network.finish();
    travelling.arrive();
  }
}

namespace {

template <class T>
void add(const T* from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

/// The gradients that one rank's queries have for the keys and values of another: those of its queries are
/// added up, those of the keys, and behind them of the values, are returned.
template <class T>
std::vector<T> backward_at_hop(const RingProblem& problem, const Ring& ring, std::size_t rank,
                               std::size_t owner, RankBlock<T>& block, const std::vector<T>& travelling) {
  std::vector<T> d_travelling(ring.numbers(owner), T{0}), d_query(block.query.size());
  if (ring.pairs(rank, owner) == 0) return d_travelling;
  auto call =
      call_of(problem, ring, rank, owner, block, travelling, block.output.data(), block.log_sum_exp.data());
  call.d_output = block.d_output.data();
  call.d_query = d_query.data();
  call.d_key = d_travelling.data();
  call.d_value = d_travelling.data() + ring.key_numbers(owner);
  call.is_part = ring.ranks() > 1;
  exact::fastest(problem.sizes).backward(call);
  add(d_query.data(), d_query.size(), block.d_query.data());
  return d_travelling;
}

}  // namespace

template <class T>
void ring_backward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks) {
  const Ring ring(problem, network.ranks());
  require_blocks(problem, ring, network, blocks);
  const auto& here = network.here();
  Travelling<T> travelling(ring, network), gradients(ring, network);
  for (std::size_t rank = here.begin; rank < here.end; ++rank) {
    auto& block = blocks[rank - here.begin];
    require_shape("d_output", rank, block.d_output, block.output.shape());
    travelling.at(rank) = keys_and_values(block);
    block.d_query = Array<T, 4>(block.query.shape(), T{0});
  }
  for (std::size_t hop = 0; hop < network.ranks(); ++hop) {
    if (hop + 1 < network.ranks()) travelling.send(hop);
    std::vector<std::vector<T>> found;
    for (std::size_t rank = here.begin; rank < here.end; ++rank)
      found.push_back(backward_at_hop(problem, ring, rank, ring.owner(rank, hop), blocks[rank - here.begin],
                                      travelling.at(rank)));
    network.finish();
    if (hop > 0) gradients.arrive();
    for (std::size_t rank = here.begin; rank < here.end; ++rank) {
      auto& sum = gradients.at(rank);
      auto& mine = found[rank - here.begin];
      if (hop > 0) add(sum.data(), sum.size(), mine.data());
      sum = std::move(mine);
    }
    gradients.send(hop);
    travelling.arrive();
  }
  network.finish();
  gradients.arrive();
  for (std::size_t rank = here.begin; rank < here.end; ++rank) {
    auto& block = blocks[rank - here.begin];
    const auto& home = gradients.at(rank);
    block.d_key = Array<T, 4>(block.key.shape());
    block.d_value = Array<T, 4>(block.value.shape());
    std::copy_n(home.data(), block.d_key.size(), block.d_key.begin());
    std::copy_n(home.data() + block.d_key.size(), block.d_value.size(), block.d_value.begin());
  }
}

std::uint64_t ring_bytes_forward(const RingProblem& problem, std::size_t ranks, std::size_t rank,
                                 std::size_t item_size) {
  const auto& [samples, heads, kv_heads, n_q, n_k, d_k, d_v] = problem.sizes;
  const auto behind = blocks_of(problem.order, n_k, ranks)[next_of(rank, ranks)].size();
  return samples * kv_heads * (n_k - behind) * (d_k + d_v) * item_size;
}

std::uint64_t ring_bytes_backward(const RingProblem& problem, std::size_t ranks, std::size_t rank,
                                  std::size_t item_size) {
  const auto& [samples, heads, kv_heads, n_q, n_k, d_k, d_v] = problem.sizes;
  const auto gradients = ranks == 1 ? 0 : samples * kv_heads * n_k * (d_k + d_v) * item_size;
  return ring_bytes_forward(problem, ranks, rank, item_size) + gradients;
}

std::uint64_t ring_pairs(const RingProblem& problem, std::size_t ranks, std::size_t rank, std::size_t hop) {
  return Ring(problem, ranks).pairs(rank, owner_at_hop(rank, hop, ranks));
}

template void ring_forward(const RingProblem&, Network&, std::vector<RankBlock<float>>&);
template void ring_forward(const RingProblem&, Network&, std::vector<RankBlock<double>>&);
template void ring_backward(const RingProblem&, Network&, std::vector<RankBlock<float>>&);
template void ring_backward(const RingProblem&, Network&, std::vector<RankBlock<double>>&);

}  // namespace attn::fast

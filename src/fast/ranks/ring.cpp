#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "fast/exact/kernels.hpp"

namespace attn::fast {

namespace {

using Positions = std::vector<std::size_t>;

/// The rank that holds a position of a sequence of n.
std::size_t rank_of(std::size_t position, Order order, std::size_t n, std::size_t ranks) {
  if (order == Order::striped) return position % ranks;
  const auto part_of = [&](std::size_t parts) { return ((position + 1) * parts - 1) / n; };
  if (order == Order::contiguous) return part_of(ranks);
  return std::min(part_of(2 * ranks), 2 * ranks - 1 - part_of(2 * ranks));
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
  std::vector<Positions> blocks(ranks);
  for (std::size_t position = 0; position < n; ++position)
    blocks[rank_of(position, order, n, ranks)].push_back(position);
  return blocks;
}

std::size_t owner_at_hop(std::size_t rank, std::size_t hop, std::size_t ranks) {
  return (rank + ranks - hop % ranks) % ranks;
}

namespace {

std::size_t next_of(std::size_t rank, std::size_t ranks) {
  return (rank + 1) % ranks;
}

template <class T>
void add(const T* from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

/// The ranks of a ring that this process plays, while they compute.
template <class T>
class RanksHere {
 public:
  RanksHere(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks)
      : problem_(problem),
        sizes_(problem.sizes),
        network_(network),
        here_(network.here()),
        blocks_(blocks),
        positions_(blocks_of(problem.order, sizes_.n_k, network.ranks())) {
    if (sizes_.n_q != sizes_.n_k)
      throw std::invalid_argument(
          fmt::format("[ring] {} queries and {} keys; a ring is one sequence", sizes_.n_q, sizes_.n_k));
    if (blocks.size() != here_.size())
      throw std::invalid_argument(
          fmt::format("[ring] {} blocks for {} ranks of this process", blocks.size(), here_.size()));
    for_each([&](std::size_t rank, const RankBlock<T>& block) {
      require_shape("query", rank, block.query, shape(rank, sizes_.heads, sizes_.d_k));
      require_shape("key", rank, block.key, shape(rank, sizes_.kv_heads, sizes_.d_k));
      require_shape("value", rank, block.value, shape(rank, sizes_.kv_heads, sizes_.d_v));
    });
  }

  void forward() {
    auto travelling = keys_and_values();
    for_each([&](std::size_t rank, RankBlock<T>& block) {
      block.output = Array<T, 4>(shape(rank, sizes_.heads, sizes_.d_v), T{0});
      block.log_sum_exp = Array<T, 3>(std::array{sizes_.samples, sizes_.heads, rows(rank)},
                                      -std::numeric_limits<T>::infinity());
    });
    for (std::size_t hop = 0; hop < network_.ranks(); ++hop) {
      const bool is_last = hop + 1 == network_.ranks();
      if (!is_last) send(travelling, hop);
      for_each([&](std::size_t rank, RankBlock<T>& block) {
        attend(rank, owner(rank, hop), block, at(travelling, rank));
      });
      if (is_last) continue;
      network_.finish();
      travelling.now.swap(travelling.next);
    }
  }

  void backward() {
    auto travelling = keys_and_values();
    Travelling gradients = {Blocks(here_.size()), Blocks(here_.size())};
    for_each([&](std::size_t rank, RankBlock<T>& block) {
      require_shape("d_output", rank, block.d_output, block.output.shape());
      block.d_query = Array<T, 4>(block.query.shape(), T{0});
    });
    for (std::size_t hop = 0; hop < network_.ranks(); ++hop) {
      if (hop + 1 < network_.ranks()) send(travelling, hop);
      Blocks found;
      for_each([&](std::size_t rank, RankBlock<T>& block) {
        found.push_back(attend_backward(rank, owner(rank, hop), block, at(travelling, rank)));
      });
      network_.finish();
      if (hop > 0) {
        gradients.now.swap(gradients.next);
        for (std::size_t i = 0; i < found.size(); ++i)
          add(gradients.now[i].data(), gradients.now[i].size(), found[i].data());
      }
      gradients.now.swap(found);
      send(gradients, hop);
      travelling.now.swap(travelling.next);
    }
    network_.finish();
    for_each([&](std::size_t rank, RankBlock<T>& block) {
      const T* home = gradients.next[rank - here_.begin].data();
      block.d_key = Array<T, 4>(block.key.shape());
      block.d_value = Array<T, 4>(block.value.shape());
      std::copy_n(home, block.d_key.size(), block.d_key.begin());
      std::copy_n(home + block.d_key.size(), block.d_value.size(), block.d_value.begin());
    });
  }

 private:
  using Blocks = std::vector<std::vector<T>>;

  /// What goes round the ring: for each rank played here the numbers that it has at this hop, a block of keys
  /// and the values behind it or their gradients, and room for those that come next.
  struct Travelling {
    Blocks now, next;
  };

  std::size_t rows(std::size_t rank) const { return positions_[rank].size(); }
  std::size_t owner(std::size_t rank, std::size_t hop) const {
    return owner_at_hop(rank, hop, positions_.size());
  }

  /// Numbers of the keys or values of a rank that have so many columns.
  std::size_t numbers(std::size_t rank, std::size_t columns) const {
    return sizes_.samples * sizes_.kv_heads * rows(rank) * columns;
  }

  template <class Work>
  void for_each(const Work& work) {
    for (std::size_t rank = here_.begin; rank < here_.end; ++rank) work(rank, blocks_[rank - here_.begin]);
  }

  const std::vector<T>& at(const Travelling& travelling, std::size_t rank) const {
    return travelling.now[rank - here_.begin];
  }

  Travelling keys_and_values() {
    Travelling travelling = {{}, Blocks(here_.size())};
    for_each([&](std::size_t, const RankBlock<T>& block) {
      auto& numbers = travelling.now.emplace_back(block.key.begin(), block.key.end());
      numbers.insert(numbers.end(), block.value.begin(), block.value.end());
    });
    return travelling;
  }

  /// Sends what each rank has at a hop to the next rank.
  void send(Travelling& travelling, std::size_t hop) {
    std::vector<Transfer> transfers;
    for (std::size_t from = 0; from < positions_.size(); ++from) {
      Transfer transfer = {from, next_of(from, positions_.size()), nullptr, nullptr, 0};
      const auto count = numbers(owner(from, hop), sizes_.d_k + sizes_.d_v);
      transfer.bytes = count * sizeof(T);
      if (network_.plays(from)) transfer.source = at(travelling, from).data();
      if (network_.plays(transfer.to)) {
        auto& room = travelling.next[transfer.to - here_.begin];
        room.resize(count);
        transfer.destination = room.data();
      }
      if (network_.plays(from) || network_.plays(transfer.to)) transfers.push_back(transfer);
    }
    network_.start(transfers);
  }

  std::array<std::size_t, 4> shape(std::size_t rank, std::size_t heads, std::size_t width) const {
    return {sizes_.samples, heads, rows(rank), width};
  }

  template <std::size_t N>
  static void require_shape(const char* name, std::size_t rank, const Array<T, N>& tensor,
                            const std::array<std::size_t, N>& expected) {
    if (std::equal(expected.begin(), expected.end(), tensor.shape().begin())) return;
    throw std::invalid_argument(fmt::format("[ring] {} of rank {} is {}; its positions ask for {}", name,
                                            rank, to_string(view_of(tensor).shape),
                                            to_string(Shape(expected.begin(), expected.end()))));
  }

  /// Of one rank's queries and another's keys; nothing where none is seen.
  std::optional<exact::Call<T>> call_of(std::size_t rank, std::size_t owner, RankBlock<T>& block,
                                        const std::vector<T>& keys_and_values) const {
    exact::Call<T> call = {.sizes = sizes_,
                           .visible = problem_.visible,
                           .scale = static_cast<T>(problem_.scale),
                           .query = block.query.data(),
                           .key = keys_and_values.data(),
                           .value = keys_and_values.data() + numbers(owner, sizes_.d_k),
                           .output = block.output.data(),
                           .log_sum_exp = block.log_sum_exp.data(),
                           .threads = problem_.threads};
    call.sizes.n_q = rows(rank);
    call.sizes.n_k = rows(owner);
    call.visible.query_positions = positions_[rank];
    call.visible.key_positions = positions_[owner];
    for (std::size_t sample = 0; sample < sizes_.samples; ++sample)
      for (std::size_t query = 0; query < call.sizes.n_q; ++query)
        if (!visible_keys(call.sizes, call.visible, sample, query).empty()) return call;
    return std::nullopt;
  }

  /// Merges the attention to another set of keys with what was found before: with l = exp(log_sum_exp),
  /// o = (l o + l′ o′) / (l + l′).
  void attend(std::size_t rank, std::size_t owner, RankBlock<T>& block,
              const std::vector<T>& keys_and_values) {
    auto call = call_of(rank, owner, block, keys_and_values);
    if (!call) return;
    found_output_.resize(block.output.size());
    found_log_sum_exp_.resize(block.log_sum_exp.size());
    call->output = found_output_.data();
    call->log_sum_exp = found_log_sum_exp_.data();
    kernel_.forward(*call);
    T* output = block.output.data();
    for (std::size_t row = 0; row < block.log_sum_exp.size(); ++row) {
      const T before = block.log_sum_exp.data()[row], added = found_log_sum_exp_[row];
      if (added == -std::numeric_limits<T>::infinity()) continue;
      const T larger = std::max(before, added);
      const T sum = larger + std::log(std::exp(before - larger) + std::exp(added - larger));
      const T keep = std::exp(before - sum), take = std::exp(added - sum);
      for (std::size_t c = row * sizes_.d_v; c < (row + 1) * sizes_.d_v; ++c)
        output[c] = keep * output[c] + take * found_output_[c];
      block.log_sum_exp.data()[row] = sum;
    }
  }

  /// The gradients that one rank's queries have for the keys and values of another: those of its queries are
  /// added up, those of the keys, and behind them of the values, are returned.
  std::vector<T> attend_backward(std::size_t rank, std::size_t owner, RankBlock<T>& block,
                                 const std::vector<T>& keys_and_values) {
    std::vector<T> gradients(keys_and_values.size(), T{0}), d_query(block.query.size());
    auto call = call_of(rank, owner, block, keys_and_values);
    if (!call) return gradients;
    call->d_output = block.d_output.data();
    call->d_query = d_query.data();
    call->d_key = gradients.data();
    call->d_value = gradients.data() + numbers(owner, sizes_.d_k);
    call->is_part = positions_.size() > 1;
    kernel_.backward(*call);
    add(d_query.data(), d_query.size(), block.d_query.data());
    return gradients;
  }

  const RingProblem& problem_;
  const Sizes& sizes_;
  Network& network_;
  const Range& here_;
  std::vector<RankBlock<T>>& blocks_;
  std::vector<Positions> positions_;
  const exact::Kernel& kernel_ = exact::fastest(sizes_);
  std::vector<T> found_output_, found_log_sum_exp_;  ///< of a rank, at a hop
};

}  // namespace

template <class T>
void ring_forward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks) {
  RanksHere<T>(problem, network, blocks).forward();
}

template <class T>
void ring_backward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks) {
  RanksHere<T>(problem, network, blocks).backward();
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

double ring_imbalance(const RingProblem& problem, std::size_t ranks) {
  std::vector<double> pairs;
  for (const auto& positions : blocks_of(problem.order, problem.sizes.n_k, ranks)) {
    std::size_t seen = 0;
    for (std::size_t sample = 0; sample < problem.sizes.samples; ++sample)
      for (const auto position : positions)
        seen += visible_keys(problem.sizes, problem.visible, sample, position).size();
    pairs.push_back(static_cast<double>(seen));
  }
  const auto [fewest, most] = std::minmax_element(pairs.begin(), pairs.end());
  return *most / *fewest;
}

template void ring_forward(const RingProblem&, Network&, std::vector<RankBlock<float>>&);
template void ring_forward(const RingProblem&, Network&, std::vector<RankBlock<double>>&);
template void ring_backward(const RingProblem&, Network&, std::vector<RankBlock<float>>&);
template void ring_backward(const RingProblem&, Network&, std::vector<RankBlock<double>>&);

}  // namespace attn::fast

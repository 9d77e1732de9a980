#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <xtensor/xview.hpp>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"
#include "fast/exact/kernels.hpp"

namespace attn::bench {

namespace {

using fast::Network;
using fast::Order;
using fast::RankBlock;
using fast::RingProblem;
using Positions = std::vector<std::size_t>;

/// Until all processes are here.
void meet(Network& network) {
  of_all_ranks(network, char{0});
}

double largest_of(Network& network, double own) {
  const auto all = of_all_ranks(network, own);
  return *std::max_element(all.begin(), all.end());
}

std::size_t count_hosts(Network& network) {
  std::array<char, 64> name{};
  gethostname(name.data(), name.size() - 1);
  const auto names = of_all_ranks(network, name);
  return std::set<std::array<char, 64>>(names.begin(), names.end()).size();
}

/// Seconds of a message of that size from rank 0 to rank 1, half of the way there and back.
double seconds_of_message(Network& network, std::size_t bytes) {
  constexpr int times = 9;
  std::vector<char> out(bytes), in(bytes);
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    meet(network);
    const Stopwatch watch;
    for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>(0, 1), {1, 0}}) {
      network.start({{from, to, out.data(), in.data(), bytes}});
      network.finish();
    }
    seconds.push_back(watch.seconds() / 2.0);
  }
  return of_all_ranks(network, median(seconds))[0];
}

Link measure_link(Network& network) {
  if (network.ranks() == 1) return {};
  constexpr std::size_t few = 8, many = std::size_t{1} << 23;
  const double latency = seconds_of_message(network, few), both = seconds_of_message(network, many);
  return {.latency = latency, .bandwidth = static_cast<double>(many) / std::max(both - latency, 1e-9)};
}

#ifdef __linux__
/// While an object of this class exists, this thread and those that it starts may run on every processor:
/// mpirun ties a rank to one.
class OnAllProcessors {
 public:
  OnAllProcessors() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) CPU_SET(processor, &all);
    sched_setaffinity(0, sizeof(all), &all);
  }
  ~OnAllProcessors() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnAllProcessors(const OnAllProcessors&) = delete;
  OnAllProcessors& operator=(const OnAllProcessors&) = delete;

 private:
  cpu_set_t before_{};
};
#else
struct OnAllProcessors {
  OnAllProcessors() {}  // there is no mpirun
};
#endif

/// The operands of a call that one process makes, and its results.
template <class T>
class OneProcess {
 public:
  OneProcess(const Setting& setting, const Positions& positions)
      : setting_(setting), block_(draw_inputs<T>(setting, positions)) {
    setting_.n = positions.size();
    add_results(block_, setting_);
  }

  double seconds(Pass pass) {
    const auto call = exact_call(block_, setting_);
    const auto& kernel = exact::fastest(call.sizes);
    const Stopwatch watch;
    pass == Pass::forward ? kernel.forward(call) : kernel.backward(call);
    return watch.seconds();
  }

  const RankBlock<T>& block() const { return block_; }

 private:
  Setting setting_;
  RankBlock<T> block_;
};

/// The largest difference of some rows, along the third axis, from those of the whole; infinite of NaN.
template <class T>
double error_of(const Array<T, 4>& rows, const Array<T, 4>& whole, const Positions& positions) {
  const Array<double, 4> expected = xt::view(whole, xt::all(), xt::all(), xt::keep(positions), xt::all());
  const double largest = max_abs_difference(Array<double, 4>(rows), expected);
  return std::isnan(largest) ? HUGE_VAL : largest;
}

template <class T>
double error_of(Pass pass, const RankBlock<T>& block, const RankBlock<T>& whole, const Positions& positions) {
  if (pass == Pass::forward) return error_of(block.output, whole.output, positions);
  return std::max({error_of(block.d_query, whole.d_query, positions),
                   error_of(block.d_key, whole.d_key, positions),
                   error_of(block.d_value, whole.d_value, positions)});
}

template <class T>
class RanksBenchmark {
 public:
  RanksBenchmark(const Setting& setting, Order order, Network& network)
      : setting_(setting),
        network_(network),
        problem_{.sizes = setting.sizes(),
                 .visible = setting.visible(),
                 .order = order,
                 .scale = 1.0 / std::sqrt(static_cast<double>(setting.d_k)),
                 .threads = setting.threads},
        positions_(fast::blocks_of(order, setting.n, network.ranks())),
        blocks_{draw_inputs<T>(setting, positions_[network.here().begin])} {
    if (rank() != 0) return;
    alone_.emplace(setting.unmasked(), positions_[0]);
    if (operand_bytes(setting, sizeof(T)) >= free_memory() / 2) return;
    Positions all(setting.n);
    std::iota(all.begin(), all.end(), std::size_t{0});
    auto with_all_threads = setting;
    with_all_threads.threads *= static_cast<int>(network.ranks());
    whole_.emplace(with_all_threads, all);
  }

  RanksResult run(int rounds, const Progress& progress) {
    RanksResult result = {.setting = setting_,
                          .order = problem_.order,
                          .ranks = network_.ranks(),
                          .hosts = count_hosts(network_),
                          .imbalance = fast::ring_imbalance(problem_, network_.ranks()),
                          .link = measure_link(network_)};
    result.passes.push_back(first_run(Pass::forward));
    if (setting_.backward) result.passes.push_back(first_run(Pass::backward));
    for (int round = 0; round < rounds; ++round) {
      if (progress) progress(static_cast<double>(round) / rounds, fmt::format("n = {}", setting_.n));
      for (auto& pass : result.passes) measure(pass);
    }
    return result;
  }

 private:
  std::size_t rank() const { return network_.here().begin; }

  void run_ring(Pass pass) {
    if (pass == Pass::forward)
      fast::ring_forward(problem_, network_, blocks_);
    else
      fast::ring_backward(problem_, network_, blocks_);
  }

  double seconds_of_whole(Pass pass) {
    if (!whole_) return 0.0;
    const OnAllProcessors unbound;
    return whole_->seconds(pass);
  }

  /// Counts bytes and memory and compares with one process.
  RanksPass first_run(Pass pass) {
    RanksPass measured = {.pass = pass};
    measured.operations = Task{.setting = setting_}.operations(pass);
    network_.reset_counts();
    const auto& own = blocks_[0];
    const auto numbers = own.query.size() + own.key.size() + own.value.size() + own.d_output.size();
    auto memory = static_cast<double>(numbers * sizeof(T));
    {
      const AllocationMeter meter;
      run_ring(pass);
      memory += meter.growth().value_or(0.0);
    }
    measured.memory = of_all_ranks(network_, memory);
    measured.bytes = of_all_ranks(network_, network_.bytes_sent(rank()));
    for (std::size_t owner = 0; owner < network_.ranks(); ++owner)
      measured.formula.push_back(
          pass == Pass::forward ? fast::ring_bytes_forward(problem_, network_.ranks(), owner, sizeof(T))
                                : fast::ring_bytes_backward(problem_, network_.ranks(), owner, sizeof(T)));
    if (whole_) {
      seconds_of_whole(pass);
      measured.error = error_of(pass, blocks_[0], whole_->block(), positions_[0]);
    }
    measured.error = of_all_ranks(network_, measured.error)[0];
    return measured;
  }

  void measure(RanksPass& measured) {
    meet(network_);
    network_.reset_counts();
    const Stopwatch watch;
    run_ring(measured.pass);
    const double seconds = watch.seconds();
    measured.seconds.push_back(largest_of(network_, seconds));
    measured.waiting.push_back(largest_of(network_, network_.seconds_waited()));

    const auto rows = static_cast<double>(positions_[0].size());
    const double pairs = rows * rows;
    const double alone =
        alone_ ? softmax_operations(setting_, measured.pass, pairs) / alone_->seconds(measured.pass) : 0.0;
    measured.one_rank_rates.push_back(of_all_ranks(network_, alone)[0]);
    const double whole = of_all_ranks(network_, seconds_of_whole(measured.pass))[0];
    if (whole > 0.0) measured.one_process.push_back(whole);
  }

  const Setting& setting_;
  Network& network_;
  RingProblem problem_;
  std::vector<Positions> positions_;
  std::vector<RankBlock<T>> blocks_;                ///< of this rank, one
  std::optional<OneProcess<T>> alone_{}, whole_{};  ///< on rank 0
};

}  // namespace

template <class T>
RanksResult run_on_ranks(const Setting& setting, Order order, Network& network, int rounds,
                         const Progress& progress) {
  if (network.here().size() != 1)
    throw std::invalid_argument("[run_on_ranks] a process that plays several ranks cannot time one");
  const auto ranks = static_cast<double>(network.ranks());
  const double needed = 2.0 * operand_bytes(setting, sizeof(T)) / ranks;  // and blocks on their way
  if (needed > free_memory())
    throw Error(
        fmt::format("--lengths {}: a rank needs {}, this machine has {}; valid: fewer tokens or more ranks",
                    setting.n, in_bytes(needed), in_bytes(free_memory())));
  return RanksBenchmark<T>(setting, order, network).run(rounds, progress);
}

Projection project(const RanksResult& measured, std::size_t n, std::size_t ranks, std::size_t item_size) {
  const auto& setting = measured.setting;
  const auto& pass = measured.passes.front();
  const auto block = static_cast<double>(n) / static_cast<double>(ranks);
  const double pairs = block * block * (setting.causal ? 0.5 : 1.0);
  const double rate = pass.operations / median(pass.seconds) / static_cast<double>(measured.ranks);
  const auto width = static_cast<double>(setting.kv_heads * (setting.d_k + setting.d_v) * item_size);
  const double bytes_of_token = *std::max_element(pass.memory.begin(), pass.memory.end()) *
                                static_cast<double>(measured.ranks) / static_cast<double>(setting.n);
  Projection projection = {.ranks = ranks};
  projection.computing = softmax_operations(setting, Pass::forward, pairs) / rate;
  projection.transfer = measured.link.seconds(block * width);
  const double hop = std::max(projection.computing, projection.transfer);
  projection.seconds = hop * static_cast<double>(ranks);
  projection.waiting = 1.0 - projection.computing / hop;
  projection.memory = bytes_of_token * block;
  return projection;
}

template RanksResult run_on_ranks<float>(const Setting&, Order, Network&, int, const Progress&);
template RanksResult run_on_ranks<double>(const Setting&, Order, Network&, int, const Progress&);

}  // namespace attn::bench

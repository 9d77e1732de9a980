#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fast/bench/benchmark.hpp"
#include "fast/ranks/ring.hpp"

namespace attn::bench {

/// One pass of ring attention, measured.
struct RanksPass {
  Pass pass = Pass::forward;
  double operations = 0.0;               ///< useful ones, of all ranks together
  std::vector<double> seconds{};         ///< in each round, of the rank that took longest
  std::vector<double> waiting{};         ///< in each round, the longest that a rank waited for transfers
  std::vector<double> one_rank_rates{};  ///< in each round, of the kernel on the blocks of rank 0, alone
  std::vector<double> one_process{};     ///< in each round, seconds with a thread for each rank; may be empty
  std::vector<std::uint64_t> bytes{};    ///< [rank] sent, counted
  std::vector<std::uint64_t> formula{};  ///< [rank] what they should be
  std::vector<double> memory{};          ///< [rank] bytes allocated at one time, inputs and results included
  double error = 0.0;  ///< the largest difference of rank 0's rows from those of one process
};

/// What a message takes between two ranks: seconds = latency + bytes / bandwidth.
struct Link {
  double latency = 0.0;    ///< seconds
  double bandwidth = 0.0;  ///< bytes a second

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// Ring attention on all ranks of a network, at one length.
struct RanksResult {
  Setting setting;
  fast::Order order = fast::Order::contiguous;
  std::size_t ranks = 1;
  std::size_t hosts = 1;
  double imbalance = 1.0;  ///< pairs of the rank with the most over those of the one with the fewest
  Link link{};             ///< from rank 0 to rank 1 and back; where there is one rank, nothing
  std::vector<RanksPass> passes{};
};

/// Times the fastest kernel on each rank, with transfers behind it, forward and, where the setting asks for
/// it, backward. In each round all ranks run together; then rank 0 alone runs the kernel on its own block
/// with its threads; then it alone runs the whole with as many threads as all ranks have, where that fits in
/// memory. Every process gets the same result. Instantiated for float and double.
///
/// Throws Error where a rank's blocks do not fit in memory, and std::invalid_argument where this process
/// plays other than one rank.
template <class T>
RanksResult run_on_ranks(const Setting& setting, fast::Order order, fast::Network& network, int rounds,
                         const Progress& progress = {});

/// What the measured rates would give for a sequence of n tokens on more ranks.
struct Projection {
  std::size_t ranks = 0;
  double computing = 0.0;  ///< seconds of a hop
  double transfer = 0.0;   ///< seconds of a hop, behind the computing
  double seconds = 0.0;    ///< of the whole forward pass: at each hop the longer of the two
  double waiting = 0.0;    ///< the share of it in which a rank waits for a transfer
  double memory = 0.0;     ///< bytes of a rank
};

/// On paper: each rank computes at the rate measured, a transfer takes what the link takes, the work is
/// shared evenly, and memory grows with n / ranks.
Projection project(const RanksResult& measured, std::size_t n, std::size_t ranks, std::size_t item_size);

}  // namespace attn::bench

// What every rank runs under mpirun:
//   ranks equal           ring attention and gradients of random shapes equal one process
//   ranks delayed         a rank that is slow changes no bit
//   ranks die R           rank R is killed in the middle
//   ranks stop R          rank R stops, as one that cannot be reached

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "attn/error.hpp"
#include "fast/ranks/network.hpp"
#include "tests/unit/fast/ranks/random_ring.hpp"

namespace {

using attn::fast::Network;
using attn::fast::RankBlock;
using attn::fast::RingProblem;

constexpr unsigned shapes = 200;

template <class T>
bool is_equal(Network& network, unsigned seed) {
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;
  const auto ring = random_ring<T>(seed, network.ranks());
  const auto rank = network.here().begin;
  auto blocks = ring.blocks(network.here());
  network.reset_counts();
  attn::fast::ring_forward(ring.problem, network, blocks);
  const auto forward_bytes = network.bytes_sent(rank);
  attn::fast::ring_backward(ring.problem, network, blocks);
  const auto backward_bytes = network.bytes_sent(rank) - forward_bytes;
  const double forward = ring.error_forward(rank, blocks[0]), backward = ring.error_backward(rank, blocks[0]);
  const bool right_bytes =
      forward_bytes == attn::fast::ring_bytes_forward(ring.problem, ring.ranks, rank, sizeof(T)) &&
      backward_bytes == attn::fast::ring_bytes_backward(ring.problem, ring.ranks, rank, sizeof(T));
  if (forward <= tolerance && backward <= tolerance && right_bytes) return true;
  fmt::print(stderr, "seed {}, rank {} of {}: forward off by {:g}, backward by {:g}, bytes {}\n", seed, rank,
             ring.ranks, forward, backward, right_bytes ? "right" : "wrong");
  return false;
}

bool all_equal(Network& network) {
  bool all = true;
  for (unsigned seed = 0; seed < shapes; ++seed)
    all = is_equal<float>(network, seed) && is_equal<double>(network, seed) && all;
  return all;
}

template <class Tensor>
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a.data()[0])) == 0;
}

bool delay_changes_nothing(Network& network) {
  bool same = true;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const auto ring = random_ring<double>(seed, network.ranks());
    std::vector<std::vector<RankBlock<double>>> runs;
    for (std::size_t slow = 0; slow <= network.ranks(); ++slow) {
      auto blocks = ring.blocks(network.here());
      if (slow == network.here().begin) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      attn::fast::ring_forward(ring.problem, network, blocks);
      if (slow == network.here().begin) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      attn::fast::ring_backward(ring.problem, network, blocks);
      runs.push_back(blocks);
    }
    for (const auto& run : runs)
      same = same && same_bits(run[0].output, runs[0][0].output) &&
             same_bits(run[0].d_query, runs[0][0].d_query) && same_bits(run[0].d_key, runs[0][0].d_key) &&
             same_bits(run[0].d_value, runs[0][0].d_value);
  }
  return same;
}

/// A sequence that goes round for a long time, until something happens to a rank.
void go_round(Network& network) {
  for (unsigned seed = 0;; ++seed) {
    const auto ring = random_ring<double>(seed % shapes, network.ranks());
    auto blocks = ring.blocks(network.here());
    attn::fast::ring_forward(ring.problem, network, blocks);
  }
}

/// This process, in a second.
void signal_later(int signal) {
  std::thread([signal] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    kill(getpid(), signal);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::size_t argument = argc > 2 ? std::stoul(argv[2]) : 0;
  const auto network = attn::fast::join_mpirun();
  const auto rank = network->here().begin;
  if (what == "equal") return all_equal(*network) ? 0 : 1;
  if (what == "delayed") return delay_changes_nothing(*network) ? 0 : 1;
  if (what == "die" || what == "stop") {
    if (rank == argument) signal_later(what == "die" ? SIGKILL : SIGSTOP);
    go_round(*network);
  }
  fmt::print(stderr, "ranks {}: valid: equal, delayed, die R, stop R\n", what);
  return 2;
} catch (const attn::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}

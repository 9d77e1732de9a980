#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fast/visibility.hpp"

namespace attn::fast {

/// Bytes on their way from one rank to another. A process that plays neither rank needs neither pointer.
struct Transfer {
  std::size_t from, to;
  const void* source;  ///< where `from` has them; read until `finish`
  void* destination;   ///< where `to` wants them; theirs after `finish`
  std::size_t bytes;
};

/// What carries bytes between the ranks of one computation. A rank is a part of it with a memory of its own.
/// A process plays some of the ranks: one of them under mpirun, all where it is alone. All processes call the
/// same functions in the same order.
class Network {
 public:
  virtual ~Network() = default;

  std::size_t ranks() const { return bytes_sent_.size(); }

  /// The ranks that this process plays.
  const Range& here() const { return here_; }
  bool plays(std::size_t rank) const { return rank >= here_.begin && rank < here_.end; }

  /// Begins these transfers, all that there are between any two ranks, and counts the bytes that ranks send
  /// to others. They go on while the caller computes.
  void start(const std::vector<Transfer>& transfers);

  /// Waits for all transfers that were begun.
  void finish();

  /// What each rank knows and all are to know: the part of rank r is filled in where r is played. Not counted
  /// and not timed: it is there for whoever looks on.
  struct Part {
    std::size_t owner;
    void* data;
    std::size_t bytes;
  };
  void share(const std::vector<Part>& parts);

  /// Bytes that a rank played here has sent.
  std::uint64_t bytes_sent(std::size_t rank) const { return bytes_sent_[rank]; }

  /// Seconds that `finish` has waited for.
  double seconds_waited() const { return seconds_waited_; }

  /// Counts bytes and seconds from 0 again.
  void reset_counts();

 protected:
  Network(std::size_t ranks, const Range& here) : here_(here), bytes_sent_(ranks, 0) {}

 private:
  virtual void carry(const std::vector<Transfer>& transfers) = 0;
  virtual void wait() = 0;

  Range here_;
  std::vector<std::uint64_t> bytes_sent_;
  double seconds_waited_ = 0.0;
};

/// [rank] what each rank has, known to all; `own` is that of the ranks played here.
template <class Item>
std::vector<Item> of_all_ranks(Network& network, const Item& own) {
  std::vector<Item> items(network.ranks(), own);
  std::vector<Network::Part> parts;
  for (std::size_t rank = 0; rank < items.size(); ++rank) parts.push_back({rank, &items[rank], sizeof(Item)});
  network.share(parts);
  return items;
}

/// All ranks in this process: transfers are copies.
std::unique_ptr<Network> local_network(std::size_t ranks);

// The processes that mpirun started, as a network. MPI is a module of its own, attnlab_mpi.so, which is
// loaded when this is called for and built where Open MPI is installed.

/// Whether Open MPI's mpirun started this process.
bool started_by_mpirun();

/// Joins the other processes; this one plays the rank that mpirun gave it. A process that ends early, stops
/// or cannot be reached ends all others within 10 s, with a line that names its rank. None is through with
/// the network before all are.
///
/// Throws attn::Error where there is no such module beside the program.
std::unique_ptr<Network> join_mpirun();

/// Throws attn::Error, in every process, where one was given another text than rank 0, with its rank.
void require_same_text(Network& network, const std::string& text);

}  // namespace attn::fast

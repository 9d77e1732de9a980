#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fast/ranks/network.hpp"
#include "fast/ranks/ring.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

using Positions = std::vector<std::size_t>;

/// What attention across machines starts from. A run without --heads has one head.
struct RingInputs {
  Tensor<4> Q, K, V;  ///< [batch×head×query×d_k], [batch×head×key×d_k], [batch×head×key×d_v]
  std::optional<Mask<3>> mask;  ///< [batch×query×key]

  std::size_t samples() const { return Q.shape(0); }
  std::size_t heads() const { return Q.shape(1); }
  std::size_t n() const { return Q.shape(2); }
  std::size_t d_k() const { return Q.shape(3); }
  std::size_t d_v() const { return V.shape(3); }
  bool sees(std::size_t sample, std::size_t query, std::size_t key) const {
    return !mask || (*mask)(sample, query, key);
  }
};

/// The ranks of a run and the tokens that each of them holds.
class Ranks {
 public:
  Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype);

  std::size_t count() const { return positions_.size(); }
  const Positions& positions(std::size_t rank) const { return positions_[rank]; }
  std::size_t owner(std::size_t rank, std::size_t hop) const {
    return attn::fast::owner_at_hop(rank, hop, count());
  }
  attn::fast::Network& network() const { return network_; }

  /// Calls `visit` with each rank that this process plays.
  template <class Visitor>
  void each_here(Visitor visit) const {
    for (std::size_t rank = network_.here().begin; rank < network_.here().end; ++rank) visit(rank);
  }

  /// Numbers on their way from one rank to another.
  struct Letter {
    std::size_t from, to, count;
    std::vector<double> numbers{};  ///< known where `from` is played, and where `to` is after `deliver`
  };

  /// Sends the letters, all that there are between any two ranks, in the run's dtype, and calls `meanwhile`
  /// while they travel.
  template <class Meanwhile>
  void deliver(std::vector<Letter>& letters, Meanwhile meanwhile) const {
    const auto sent = start(letters);
    meanwhile();
    finish(letters, *sent);
  }

  /// Makes the rows [batch×head×row…] of each rank's tokens known to all processes.
  void share_rows(Tensor<4>& x) const;

  /// Makes what each rank has known to all processes: element `rank` of `numbers`.
  void share(std::vector<std::int64_t>& numbers) const;

  /// [rank] the bytes that each has sent since the network's counts began.
  std::vector<std::int64_t> bytes_sent() const;

 private:
  struct Post;
  std::shared_ptr<Post> start(const std::vector<Letter>& letters) const;
  void finish(std::vector<Letter>& letters, Post& sent) const;

  attn::fast::Network& network_;
  attn::Dtype dtype_;
  std::vector<Positions> positions_;
};

/// Some rows of x [batch×head×row…], one behind the other; and the inverse. Of the heads from `first` on
/// where it says how many.
std::vector<double> take_rows(const Tensor<4>& x, const Positions& rows, std::size_t first = 0,
                              std::size_t heads = 0);
void put_rows(Tensor<4>& x, const Positions& rows, const std::vector<double>& numbers, std::size_t first = 0,
              std::size_t heads = 0);

/// What all ranks make of the inputs together.
struct RingResult {
  Tensor<4> output;                 ///< [batch×head×query×d_v]
  std::vector<std::int64_t> bytes;  ///< [rank] sent
  std::int64_t pairs;               ///< of a query and a key, computed by all ranks
};

/// Keys and values travel round the ring, and each rank merges what comes. Source: Liu, Zaharia & Abbeel
/// 2023.
RingResult go_round(const RingInputs& in, const Ranks& ranks);

/// Each rank gives away its tokens of most heads for all tokens of a few, attends, and gives the outputs
/// back. Source: Jacobs et al. 2023.
RingResult exchange_heads(const RingInputs& in, const Ranks& ranks);

}  // namespace lessons

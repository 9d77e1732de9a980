#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fast/ranks/blocks.hpp"
#include "fast/ranks/network.hpp"
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
  double root() const;  ///< √d_k
};

/// The ranks of a run and the tokens that each of them holds.
class Ranks {
 public:
  Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype);

  std::size_t count() const { return positions_.size(); }
  attn::fast::Order order() const { return order_; }
  const std::vector<Positions>& positions() const { return positions_; }
  const Positions& positions(std::size_t rank) const { return positions_[rank]; }
  std::size_t next(std::size_t rank) const { return (rank + 1) % count(); }
  std::size_t owner(std::size_t rank, std::size_t hop) const {
    return attn::fast::owner_at_hop(rank, hop, count());
  }
  /// Whether a rank holds no token.
  bool any_is_empty() const;

  attn::fast::Network& network() const { return network_; }
  attn::Dtype dtype() const { return dtype_; }
  std::size_t item_size() const { return attn::item_size(dtype_); }

  /// Calls `visit` with each rank that this process plays.
  template <class Visitor>
  void each_here(Visitor visit) const {
    for (std::size_t rank = network_.here().begin; rank < network_.here().end; ++rank) visit(rank);
  }

  /// Makes the rows [batch×head×row…] of each rank's tokens known to all processes.
  template <std::size_t N>
  void share_rows(Tensor<N>& x) const;

  /// Makes what each rank has known to all processes: element `rank` of `numbers`, as many in each process.
  template <class Number>
  void share_numbers(std::vector<std::vector<Number>>& numbers) const;

  /// [rank] the bytes that each has sent since the network's counts began.
  Integers<1> bytes_sent() const;

 private:
  attn::fast::Network& network_;
  attn::fast::Order order_;
  attn::Dtype dtype_;
  std::vector<Positions> positions_;
};

/// Some rows of x [batch×head×row…], one behind the other; and the inverse.
template <std::size_t N>
std::vector<double> take_rows(const Tensor<N>& x, const Positions& rows);
template <std::size_t N>
void put_rows(Tensor<N>& x, const Positions& rows, const std::vector<double>& numbers);

/// The numbers as a rank sends them, in the run's dtype, and as another one reads them.
std::string bytes_of_numbers(const std::vector<double>& numbers, attn::Dtype dtype);
std::vector<double> numbers_of_bytes(const std::string& bytes, attn::Dtype dtype);

/// The network of mpirun, or one whose ranks are all played here.
class RanksNetwork {
 public:
  explicit RanksNetwork(const Plan& plan);
  attn::fast::Network& operator*() const { return *network_; }

 private:
  std::unique_ptr<attn::fast::Network> local_;
  attn::fast::Network* network_;
};

attn::fast::Order order_of(const Options& options);

/// "rank 0", "rank 1", …
std::vector<std::string> numbered(const char* what, std::size_t count);

}  // namespace lessons

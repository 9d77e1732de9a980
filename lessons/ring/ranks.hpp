#pragma once

#include <cstddef>
#include <cstdint>
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

/// Each rank of the network holds the tokens that the order gives it, and sends numbers in that dtype. Keys
/// and values travel round the ring, and each rank merges what comes. Source: Liu, Zaharia & Abbeel 2023.
RingResult go_round(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                    attn::Dtype dtype);

/// Each rank gives away its tokens of most heads for all tokens of a few, attends, and gives the outputs
/// back. Source: Jacobs et al. 2023.
RingResult exchange_heads(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                          attn::Dtype dtype);

}  // namespace lessons

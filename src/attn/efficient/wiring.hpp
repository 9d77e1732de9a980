#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

/// Who reads whom while a layer runs: a graph of its operations, recorded as they happen. An operation is
/// whatever mixes vectors of several tokens into one; what happens to a single token by itself costs nothing
/// here. The layer's input is one node a token.
class Wiring {
 public:
  using Node = std::size_t;

  explicit Wiring(std::size_t tokens);

  Node input(std::size_t token) const { return token; }

  /// A new operation, which has read nothing so far.
  Node operation();

  /// The operation reads a node whose own reading is complete.
  void read(Node operation, Node source);

  /// The operation ends in the output vector of a token.
  void deliver(Node operation, std::size_t token);

  /// The longest chain of operations of which each has to wait for the one before: what cannot be done in
  /// parallel.
  std::int64_t sequential_steps() const;

  /// The fewest operations between the input vector of one token and the output vector of another, where the
  /// layer may be stacked upon itself any number of times. Nothing where no number of layers connects them.
  std::optional<std::int64_t> path_length(std::size_t from, std::size_t to) const;

 private:
  std::vector<std::vector<Node>> readers_;            ///< of each node
  std::vector<std::int64_t> depths_;                  ///< the longest chain that ends in each node
  std::vector<std::vector<std::size_t>> deliveries_;  ///< the tokens whose output each node is
};

}  // namespace attn

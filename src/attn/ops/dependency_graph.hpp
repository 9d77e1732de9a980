#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

/// Which operations of a layer read the results of which others. An operation is whatever mixes vectors of
/// several tokens; what happens to a single token by itself is none. The layer's input is one node a token,
/// numbered as the tokens are.
class DependencyGraph {
 public:
  using Node = std::size_t;

  explicit DependencyGraph(std::size_t tokens);

  /// A new operation that reads these nodes. Throws std::out_of_range for a node that does not exist yet.
  Node add_operation(const std::vector<Node>& inputs);

  /// The operation's result is the output vector of a token.
  void set_output(Node operation, std::size_t token);

  /// The length of the critical path: the longest chain of operations of which each has to wait for the one
  /// before. They cannot be done in parallel.
  std::int64_t sequential_steps() const;

  /// The fewest operations between the input vector of one token and the output vector of another, where the
  /// layer may be stacked upon itself any number of times. Nothing where no number of layers connects them.
  std::optional<std::int64_t> path_length(std::size_t from, std::size_t to) const;

 private:
  std::vector<std::vector<Node>> readers_;         ///< of each node
  std::vector<std::int64_t> depths_;               ///< the longest chain that ends in each node
  std::vector<std::vector<std::size_t>> outputs_;  ///< the tokens whose output each node is
};

}  // namespace attn

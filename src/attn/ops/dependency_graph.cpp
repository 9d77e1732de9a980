#include "attn/ops/dependency_graph.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace attn {

DependencyGraph::DependencyGraph(std::size_t tokens) : readers_(tokens), depths_(tokens), outputs_(tokens) {}

DependencyGraph::Node DependencyGraph::add_operation(const std::vector<Node>& inputs) {
  const Node operation = readers_.size();
  std::int64_t depth = 1;
  for (const Node input : inputs) {
    readers_.at(input).push_back(operation);
    depth = std::max(depth, depths_[input] + 1);
  }
  readers_.emplace_back();
  depths_.push_back(depth);
  outputs_.emplace_back();
  return operation;
}

void DependencyGraph::set_output(Node operation, std::size_t token) {
  outputs_.at(operation).push_back(token);
}

std::int64_t DependencyGraph::sequential_steps() const {
  return depths_.empty() ? 0 : *std::max_element(depths_.begin(), depths_.end());
}

/// Breadth first: to enter an operation is one step; from an output to the next layer's input is none.
std::optional<std::int64_t> DependencyGraph::path_length(std::size_t from, std::size_t to) const {
  constexpr auto unreached = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> steps(readers_.size(), unreached);
  std::deque<Node> frontier = {from};
  steps[from] = 0;
  while (!frontier.empty()) {
    const Node node = frontier.front();
    frontier.pop_front();
    for (const std::size_t token : outputs_[node]) {
      if (token == to) return steps[node];
      if (steps[node] >= steps[token]) continue;
      steps[token] = steps[node];
      frontier.push_front(token);
    }
    for (const Node reader : readers_[node]) {
      if (steps[node] + 1 >= steps[reader]) continue;
      steps[reader] = steps[node] + 1;
      frontier.push_back(reader);
    }
  }
  return std::nullopt;
}

}  // namespace attn

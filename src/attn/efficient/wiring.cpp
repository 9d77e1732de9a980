#include "attn/efficient/wiring.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace attn {

Wiring::Wiring(std::size_t tokens) : readers_(tokens), depths_(tokens), deliveries_(tokens) {}

Wiring::Node Wiring::operation() {
  readers_.emplace_back();
  depths_.push_back(1);
  deliveries_.emplace_back();
  return readers_.size() - 1;
}

void Wiring::read(Node operation, Node source) {
  readers_.at(source).push_back(operation);
  depths_.at(operation) = std::max(depths_[operation], depths_[source] + 1);
}

void Wiring::deliver(Node operation, std::size_t token) {
  deliveries_.at(operation).push_back(token);
}

std::int64_t Wiring::sequential_steps() const {
  return depths_.empty() ? 0 : *std::max_element(depths_.begin(), depths_.end());
}

/// Breadth first: to enter an operation is one step; from an output to the next layer's input is none.
std::optional<std::int64_t> Wiring::path_length(std::size_t from, std::size_t to) const {
  constexpr auto unreached = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> steps(readers_.size(), unreached);
  std::deque<Node> frontier = {input(from)};
  steps[input(from)] = 0;
  while (!frontier.empty()) {
    const Node node = frontier.front();
    frontier.pop_front();
    for (const std::size_t token : deliveries_[node]) {
      if (token == to) return steps[node];
      if (steps[node] >= steps[input(token)]) continue;
      steps[input(token)] = steps[node];
      frontier.push_front(input(token));
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

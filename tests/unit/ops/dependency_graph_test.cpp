#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "attn/ops/cost_counter.hpp"

using attn::DependencyGraph;

namespace {

/// Every output is one operation that reads the tokens at most `reach` before it, and its own.
DependencyGraph window(std::size_t tokens, std::size_t reach) {
  DependencyGraph graph(tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    std::vector<DependencyGraph::Node> inputs;
    for (std::size_t j = i < reach ? 0 : i - reach; j <= i; ++j) inputs.push_back(j);
    graph.set_output(graph.add_operation(inputs), i);
  }
  return graph;
}

/// Every output reads its token and the operation of the output before.
DependencyGraph chain(std::size_t tokens) {
  DependencyGraph graph(tokens);
  DependencyGraph::Node last = 0;
  for (std::size_t i = 0; i < tokens; ++i) {
    last = i == 0 ? graph.add_operation({i}) : graph.add_operation({last, i});
    graph.set_output(last, i);
  }
  return graph;
}

}  // namespace

TEST_CASE("a layer without operations takes no step", "[dependency_graph]") {
  CHECK(DependencyGraph(3).sequential_steps() == 0);
  CHECK_FALSE(DependencyGraph(3).path_length(0, 2));
}

TEST_CASE("operations that read tokens only do not wait for each other", "[dependency_graph]") {
  CHECK(window(6, 6).sequential_steps() == 1);
  CHECK(window(6, 6).path_length(0, 5) == 1);
}

TEST_CASE("a chain waits for itself and is as long as its tokens are apart", "[dependency_graph]") {
  CHECK(chain(7).sequential_steps() == 7);
  CHECK(chain(7).path_length(0, 6) == 7);
  CHECK(chain(7).path_length(4, 6) == 3);
  CHECK(chain(1).path_length(0, 0) == 1);
}

TEST_CASE("layers are stacked until two tokens are connected", "[dependency_graph]") {
  CHECK(window(7, 2).sequential_steps() == 1);
  CHECK(window(7, 2).path_length(0, 6) == 3);
  CHECK(window(7, 2).path_length(0, 5) == 3);
  CHECK(window(7, 2).path_length(0, 4) == 2);
}

TEST_CASE("what no number of layers connects has no path", "[dependency_graph]") {
  CHECK_FALSE(window(7, 2).path_length(6, 0));
  CHECK_FALSE(window(7, 0).path_length(0, 6));
}

TEST_CASE("of several ways the shortest counts for the path and the longest for the steps",
          "[dependency_graph]") {
  DependencyGraph graph(2);
  const auto first = graph.add_operation({0});
  graph.set_output(graph.add_operation({first, 0}), 1);
  CHECK(graph.sequential_steps() == 2);
  CHECK(graph.path_length(0, 1) == 1);
  CHECK_THROWS_AS(graph.add_operation({7}), std::out_of_range);
}

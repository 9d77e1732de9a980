#include "attn/efficient/wiring.hpp"

#include <catch2/catch.hpp>

using attn::Wiring;

namespace {

/// Every output is one operation that reads the tokens at most `reach` before it, and its own.
Wiring window(std::size_t tokens, std::size_t reach) {
  Wiring wiring(tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    const auto operation = wiring.operation();
    for (std::size_t j = i < reach ? 0 : i - reach; j <= i; ++j) wiring.read(operation, wiring.input(j));
    wiring.deliver(operation, i);
  }
  return wiring;
}

/// Every output reads its token and the operation of the output before.
Wiring chain(std::size_t tokens) {
  Wiring wiring(tokens);
  Wiring::Node last = 0;
  for (std::size_t i = 0; i < tokens; ++i) {
    const auto operation = wiring.operation();
    if (i > 0) wiring.read(operation, last);
    wiring.read(operation, wiring.input(i));
    wiring.deliver(operation, i);
    last = operation;
  }
  return wiring;
}

}  // namespace

TEST_CASE("a layer without operations takes no step", "[wiring]") {
  CHECK(Wiring(3).sequential_steps() == 0);
  CHECK_FALSE(Wiring(3).path_length(0, 2));
}

TEST_CASE("operations that read tokens only do not wait for each other", "[wiring]") {
  CHECK(window(6, 6).sequential_steps() == 1);
  CHECK(window(6, 6).path_length(0, 5) == 1);
}

TEST_CASE("a chain waits for itself and is as long as its tokens are apart", "[wiring]") {
  CHECK(chain(7).sequential_steps() == 7);
  CHECK(chain(7).path_length(0, 6) == 7);
  CHECK(chain(7).path_length(4, 6) == 3);
  CHECK(chain(1).path_length(0, 0) == 1);
}

TEST_CASE("layers are stacked until two tokens are connected", "[wiring]") {
  CHECK(window(7, 2).sequential_steps() == 1);
  CHECK(window(7, 2).path_length(0, 6) == 3);
  CHECK(window(7, 2).path_length(0, 5) == 3);
  CHECK(window(7, 2).path_length(0, 4) == 2);
}

TEST_CASE("what no number of layers connects has no path", "[wiring]") {
  CHECK_FALSE(window(7, 2).path_length(6, 0));
  CHECK_FALSE(window(7, 0).path_length(0, 6));
}

TEST_CASE("of several ways the shortest counts for the path and the longest for the steps", "[wiring]") {
  Wiring wiring(2);
  const auto first = wiring.operation(), second = wiring.operation();
  wiring.read(first, wiring.input(0));
  wiring.read(second, first);
  wiring.read(second, wiring.input(0));
  wiring.deliver(second, 1);
  CHECK(wiring.sequential_steps() == 2);
  CHECK(wiring.path_length(0, 1) == 1);
}

#include "attn/index.hpp"

#include <catch2/catch.hpp>
#include <vector>

using attn::Index;

TEST_CASE("an Index takes places in and out as a vector would", "[index]") {
  Index at = {4, 7};
  at.insert(at.begin(), 1);
  at.push_back(9);
  CHECK(std::vector(at.begin(), at.end()) == std::vector<std::size_t>{1, 4, 7, 9});
  at.erase(at.begin() + 1);
  CHECK(at == Index{1, 7, 9});
  CHECK(Index(2, 5) == Index{5, 5});
  CHECK(Index{1, 7} < at);
  CHECK_FALSE(at == Index{1, 7});
}

TEST_CASE("an Index refuses more axes than it has room for", "[index]") {
  Index at(6);
  CHECK_THROWS_AS(at.push_back(0), std::length_error);
}

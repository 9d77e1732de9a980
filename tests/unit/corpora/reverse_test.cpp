#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "corpora/sequences.hpp"

using attn::Generator;
using Symbols = std::vector<std::size_t>;

TEST_CASE("symbols of reverse are spread evenly over all there are") {
  Generator random(2);
  std::map<std::size_t, int> symbols;
  for (int draw = 0; draw < 8000; ++draw) ++symbols[corpora::draw_reverse(random, 8, 5).front()];
  REQUIRE(symbols.size() == 5);
  REQUIRE(symbols.rbegin()->first == 4);
  for (const auto& [symbol, count] : symbols) CHECK(std::abs(count - 1600) < 180);
}

TEST_CASE("a sequence of reverse is as long as asked for, beyond every length of training") {
  Generator random(3);
  CHECK(corpora::draw_reverse(random, 40).size() == 40);
  CHECK(corpora::draw_reverse(random, 1, 1) == Symbols{0});
}

TEST_CASE("a seed gives the same sequences of reverse everywhere") {
  Generator random(42);
  CHECK(corpora::draw_reverse(random, 3) == Symbols{2, 20, 17});
}

TEST_CASE("no sequence of reverse has length 0 or no symbols") {
  Generator random(0);
  CHECK_THROWS_WITH(corpora::draw_reverse(random, 0),
                    "a sequence of length 0 cannot be reversed; valid: 1 or more");
  CHECK_THROWS_WITH(corpora::draw_reverse(random, 1, 0),
                    "a sequence of 0 symbols cannot be drawn; valid: 1 or more");
}

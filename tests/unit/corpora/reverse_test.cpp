#include "corpora/reverse.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "attn/error.hpp"
#include "attn/random/generator.hpp"

using attn::Generator;
using Symbols = std::vector<std::size_t>;

TEST_CASE("the target of reverse is its source backwards") {
  const auto example = corpora::reverse_example({7, 7, 3, 0});
  CHECK(example.source == Symbols{7, 7, 3, 0});
  CHECK(example.target == Symbols{0, 3, 7, 7});
  CHECK(example.right_keys == Symbols{3, 2, 1, 0});
}

TEST_CASE("the right key of each position of reverse counts from the end and has its symbol") {
  Generator random(1);
  for (int draw = 0; draw < 1000; ++draw) {
    const auto example = corpora::draw_reverse(random, 12);
    const auto length = example.source.size();
    REQUIRE(example.target.size() == length);
    REQUIRE(example.right_keys.size() == length);
    for (std::size_t i = 0; i < length; ++i) {
      REQUIRE(example.right_keys[i] == length - 1 - i);
      REQUIRE(example.target[i] == example.source[example.right_keys[i]]);
    }
  }
}

TEST_CASE("lengths and symbols of reverse are spread evenly over all there are") {
  Generator random(2);
  std::map<std::size_t, int> lengths, symbols;
  for (int draw = 0; draw < 8000; ++draw) {
    const auto example = corpora::draw_reverse(random, 8, 5);
    ++lengths[example.source.size()];
    ++symbols[example.source.front()];
  }
  REQUIRE(lengths.size() == 8);
  REQUIRE(lengths.rbegin()->first == 8);
  REQUIRE(symbols.size() == 5);
  REQUIRE(symbols.rbegin()->first == 4);
  for (const auto& [length, count] : lengths) CHECK(std::abs(count - 1000) < 150);
  for (const auto& [symbol, count] : symbols) CHECK(std::abs(count - 1600) < 180);
}

TEST_CASE("a sequence of reverse is as long as asked for, beyond every length of training") {
  Generator random(3);
  CHECK(corpora::draw_reverse_of_length(random, 40).target.size() == 40);
  CHECK(corpora::draw_reverse_of_length(random, 1, 1).target == Symbols{0});
}

TEST_CASE("a seed gives the same sequences of reverse everywhere") {
  Generator random(42);
  CHECK(corpora::draw_reverse(random, 8).source == Symbols{20});
  CHECK(corpora::draw_reverse(random, 8).source == Symbols{11, 11, 22, 2, 18, 5});
}

TEST_CASE("no sequence of reverse has length 0 or no symbols") {
  Generator random(0);
  CHECK_THROWS_AS(corpora::draw_reverse(random, 0), attn::Error);
  CHECK_THROWS_AS(corpora::draw_reverse(random, 8, 0), attn::Error);
  CHECK_THROWS_WITH(corpora::draw_reverse_of_length(random, 0),
                    "a sequence of length 0 cannot be reversed; valid: 1 or more");
  CHECK_THROWS_WITH(corpora::draw_reverse_of_length(random, 1, 0),
                    "a sequence of 0 symbols cannot be drawn; valid: 1 or more");
}

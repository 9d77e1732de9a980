#include "lessons/gold_alignment.hpp"

#include <catch2/catch.hpp>

using lessons::gold_links;
using lessons::gold_pair;

TEST_CASE("the grammar has the gold links of its own sentences, and none of others", "[gold]") {
  const auto pair = gold_pair({"the", "black", "cat", "never", "slept"});
  REQUIRE(pair);
  CHECK(pair->target == std::vector<std::string>{"le", "chat", "noir", "ne", "dormait", "jamais"});
  const std::vector<std::set<std::size_t>> links = {{0}, {2}, {1}, {3}, {4}, {3}};
  CHECK(gold_links(*pair) == links);
  CHECK_FALSE(gold_pair({"cat", "the"}));
}

TEST_CASE("a word of two has both for gold links", "[gold]") {
  const auto pair = gold_pair({"the", "man", "slept"});
  REQUIRE(pair);
  CHECK(pair->target.front() == "l'homme");
  CHECK(gold_links(*pair).front() == std::set<std::size_t>{0, 1});
}

TEST_CASE("a row looks most at its largest weight, the first of several", "[gold]") {
  const attn::Tensor<2> weights = {{0.2, 0.5, 0.3}, {0.4, 0.2, 0.4}, {0.0, 0.0, 1.0}};
  CHECK(lessons::strongest_of_rows(weights, 2) == corpora::Alignment{1, 0});
}

TEST_CASE("drawn links have brackets at the gold word and a star where the decoder looks", "[gold]") {
  const auto pair = gold_pair({"the", "black", "cat", "slept"});
  REQUIRE(pair);
  CHECK(lessons::drawn_links(*pair, {0, 2, 0, 3}) ==
        std::vector<std::string>{"         the black cat slept", "le       (*)  .     .   .",
                                 "chat      .   .    (*)  .", "noir      *  ( )    .   .",
                                 "dormait   .   .     .  (*)"});
}

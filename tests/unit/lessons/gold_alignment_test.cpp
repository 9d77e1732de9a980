#include "lessons/trained/gold_alignment.hpp"

#include <algorithm>
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

TEST_CASE("where each query looks stands beside the gold words, side by side where there is room", "[gold]") {
  const auto pair = gold_pair({"the", "man", "never", "slept"});
  REQUIRE(pair);
  CHECK(lessons::links_found(*pair, {1, 3, 3, 2, 0}) == 3);
  CHECK(lessons::looks_beside_gold(*pair, {{"a", {1, 3, 3, 2, 0}}, {"b", {0, 2, 2, 2}}}) ==
        "             l'homme       ne  dormait  jamais   found\n"
        "comes from  the, man    never    slept   never\n"
        "a                man  slept ≠    slept   never  3 of 4\n"
        "b                the    never  never ≠   never  3 of 4");
  const auto longer =
      gold_pair({"the", "cat", "did", "not", "love", "the", "apple", "because", "it", "was", "hungry"});
  REQUIRE(longer);
  const auto table =
      lessons::looks_beside_gold(*longer, {{"a", corpora::Alignment(longer->target.size(), 0)}});
  CHECK(table.substr(0, table.find('\n')) == "              comes from        a");
  CHECK(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) == longer->target.size() + 1);
}

#include <algorithm>
#include <catch2/catch.hpp>

#include "lessons/trained/translation.hpp"

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
  const auto pair = gold_pair({"the", "man", "goes", "to", "the", "castle"});
  REQUIRE(pair);
  CHECK(pair->target == std::vector<std::string>{"l'", "homme", "va", "au", "château"});
  CHECK(gold_links(*pair)[3] == std::set<std::size_t>{3, 4});
}

TEST_CASE("a row looks most at its largest weight, the first of several", "[gold]") {
  const attn::Tensor<2> weights = {{0.2, 0.5, 0.3}, {0.4, 0.2, 0.4}, {0.0, 0.0, 1.0}};
  CHECK(lessons::strongest_of_rows(weights, 2) == corpora::Alignment{1, 0});
}

TEST_CASE("where each query looks stands beside the gold words, side by side where there is room", "[gold]") {
  const auto pair = gold_pair({"the", "cat", "goes", "to", "the", "castle"});
  REQUIRE(pair);
  CHECK(lessons::links_found(*pair, {0, 1, 3, 3, 5, 0}) == 4);
  CHECK(lessons::looks_beside_gold(*pair, {{"a", {0, 1, 3, 3, 5, 0}}, {"b", {0, 1, 2, 4, 4}}}) ==
        "             le  chat    va       au  château   found\n"
        "comes from  the   cat  goes  to, the   castle\n"
        "a           the   cat  to ≠       to   castle  4 of 5\n"
        "b           the   cat  goes      the    the ≠  4 of 5");
  const auto longer =
      gold_pair({"the", "cat", "did", "not", "love", "the", "apple", "because", "it", "was", "hungry"});
  REQUIRE(longer);
  const auto table =
      lessons::looks_beside_gold(*longer, {{"a", corpora::Alignment(longer->target.size(), 0)}});
  CHECK(table.substr(0, table.find('\n')) == "        comes from        a");
  CHECK(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) == longer->target.size() + 1);
}

TEST_CASE("elisions are words of their own, but for aujourd'hui", "[translation]") {
  CHECK(lessons::with_elisions_cut({"J'aime", "l’homme", "qu'il", "aujourd'hui", "par", "-", "dessus"}) ==
        std::vector<std::string>{"J'", "aime", "l'", "homme", "qu'", "il", "aujourd'hui", "par-dessus"});
}

TEST_CASE("a word that the vocabularies lack is read as a stand-in for its kind", "[translation]") {
  const std::vector<std::string> source = {"the",      "cat",     "[animals]",      "[verb]", "[verbed]",
                                           "[person]", "[thing]", "[vowel-animal]", "[man]",  "[adjective]"},
                                 target = {"le", "[noun]", "[verb]", "[name]", "[adjective]"};
  const auto read = [&](const std::vector<std::string>& words) {
    return lessons::readings_of_pairs({words}, {}, source, target);
  };
  CHECK(read({"The", "wolves"}) ==
        std::map<std::string, std::string>{{"The", "the"}, {"wolves", "[animals]"}, {"[animals]", "[noun]"}});
  CHECK(read({"the", "elephant"})->at("elephant") == "[vowel-animal]");
  CHECK(read({"cat", "purred"})->at("purred") == "[verbed]");
  CHECK(read({"the", "walk"})->at("walk") == "[thing]");
  CHECK(read({"the", "cat", "Walter"})->at("Walter") == "[man]");
  CHECK(read({"gloomy"})->at("gloomy") == "[adjective]");
  CHECK(lessons::readings_of_pairs({{"cat"}}, {{"Le", "loup"}}, source, target) ==
        std::map<std::string, std::string>{{"Le", "le"}, {"loup", "[noun]"}});
  CHECK(lessons::readings_of_pairs({{"Cat"}}, {{"Cat"}}, source, target) ==
        std::map<std::string, std::string>{{"Cat", "cat"}, {"cat", "[noun]"}});
  CHECK_FALSE(lessons::readings_of_pairs({{"wolves"}}, {}, {"the", "cat"}, {"le", "chat"}));
}

TEST_CASE("of the words that are read as stand-ins the one with the largest weight is carried over",
          "[translation]") {
  lessons::Options options;
  options.read_as = {{"wolves", "[animals]"}, {"[animals]", "[noun]"}, {"purred", "[verbed]"},
                     {"[verbed]", "[verb]"},  {"mouse", "[animal]"},   {"[animal]", "[noun]"}};
  const std::vector<std::string> source = {"the", "wolves", "purred", "mouse"};
  const std::vector<double> weights = {0.6, 0.1, 0.2, 0.1};
  CHECK(lessons::carried_over("[verb]", source, weights.data(), options) == "purred");
  CHECK(lessons::carried_over("[noun]", source, weights.data(), options) == "wolves");
  CHECK(lessons::carried_over("chat", source, weights.data(), options) == "chat");
  CHECK(lessons::carried_over("[noun]", {"the"}, weights.data(), options) == "[noun]");
  CHECK(options.as_read("wolves", {"[animals]"}) == "[animals]");
  CHECK(options.as_read("wolves", {"[noun]"}) == "[noun]");
}

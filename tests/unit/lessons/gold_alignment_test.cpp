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

TEST_CASE("a document has the gold links as a table of 1 and 0, of so many words", "[gold]") {
  const auto pair = gold_pair({"the", "man", "goes", "to", "the", "castle"});
  REQUIRE(pair);
  const auto links = lessons::links_of_grammar(*pair, 6);
  CHECK(links.shape == attn::Shape{6, 6});
  CHECK(links.at({3, 3}) == 1.0);
  CHECK(links.at({3, 4}) == 1.0);
  CHECK(links.at({3, 5}) == 0.0);
  CHECK(links.at({5, 5}) == 0.0);
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

#include <catch2/catch.hpp>

#include "corpora/sentence_pair.hpp"

using corpora::SentencePair;

TEST_CASE("drawn links have brackets at the gold word and a star where the model looks", "[links]") {
  const SentencePair pair = {.source = {{"the", "article", "le", {}},
                                        {"black", "adjective", "noir", {}},
                                        {"cat", "noun", "chat", {}}},
                             .target = {"le", "chat", "noir"},
                             .links = {{0, 0, true}, {1, 2, true}, {2, 1, true}, {2, 2, false}}};
  CHECK(corpora::drawn_links(pair, {0, 1, 2, 0}) ==
        std::vector<std::string>{"      the black cat", "le    (*)  .     .", "chat   .   *    ( )",
                                 "noir   .  ( )   ?*?"});
}

TEST_CASE("drawn links leave out the source words where they would not fit on a page", "[links]") {
  SentencePair pair = {.source = {}, .target = {"oui"}, .links = {{0, 0, true}}};
  pair.source.assign(12, {"seven77", "noun", "", {}});
  CHECK(corpora::drawn_links(pair, {1}) ==
        std::vector<std::string>{"oui  ( ) *  .  .  .  .  .  .  .  .  .  ."});
}

#include <catch2/catch.hpp>
#include <set>

#include "corpora/sequences.hpp"

TEST_CASE("symbols are letters, then letters with a number") {
  const auto labels = corpora::symbol_labels(60);
  REQUIRE(labels.size() == 60);
  CHECK(labels[0] == "a");
  CHECK(labels[25] == "z");
  CHECK(labels[26] == "a1");
  CHECK(labels[53] == "b2");
  CHECK(std::set(labels.begin(), labels.end()).size() == 60);
}

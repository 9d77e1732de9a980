#include <catch2/catch.hpp>

#include "corpora/sentence_pair.hpp"

using corpora::AlignmentErrors;

namespace {

corpora::SentencePair with_links(std::vector<corpora::Link> links) {
  corpora::SentencePair pair;
  pair.links = std::move(links);
  return pair;
}

}  // namespace

TEST_CASE("alignment error rate: 0 where each word looks at its only link, 1 where none does") {
  const corpora::SentencePair pair = with_links({{0, 0, true}, {1, 2, true}, {2, 1, true}});
  AlignmentErrors right, wrong;
  right.add(pair, {0, 2, 1});
  wrong.add(pair, {1, 0, 2});
  CHECK(right.rate() == 0);
  CHECK(wrong.rate() == 1);
}

TEST_CASE("alignment error rate: a possible link counts for the model and is not asked of it") {
  const corpora::SentencePair pair = with_links({{0, 0, true}, {1, 1, true}, {2, 1, false}});
  AlignmentErrors possible;
  possible.add(pair, {0, 2});
  CHECK(possible.rate() == Approx(1 - (1.0 + 2.0) / (2.0 + 2.0)));
}

TEST_CASE("alignment error rate: a word with two sure links keeps it from 0, and pairs are added up") {
  const corpora::SentencePair joined = with_links({{0, 0, true}, {1, 0, true}}),
                              single = with_links({{0, 0, true}});
  AlignmentErrors errors;
  errors.add(joined, {1});
  CHECK(errors.rate() == Approx(1 - 2.0 / 3.0));
  errors.add(single, {0});
  CHECK(errors.rate() == Approx(1 - 4.0 / 5.0));
}

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "corpora/sequences.hpp"

using attn::Generator;
using corpora::InductionSequence;
using RightKeys = std::vector<std::optional<std::size_t>>;

namespace {

/// Where a token is among the ones before `end`; `end` if it is not.
std::size_t first_position(const std::vector<std::size_t>& tokens, std::size_t token, std::size_t end) {
  std::size_t position = 0;
  while (position < end && tokens[position] != token) ++position;
  return position;
}

/// Read from left to right: a token that was there before is followed by what followed it, and what follows
/// is passed over with it.
RightKeys right_keys_of(const std::vector<std::size_t>& tokens) {
  RightKeys keys(tokens.size());
  for (std::size_t position = 0; position < tokens.size(); ++position) {
    const auto before = first_position(tokens, tokens[position], position);
    if (before == position) continue;
    keys[position] = before + 1;
    ++position;
  }
  return keys;
}

std::size_t count_keys(const InductionSequence& sequence) {
  const auto& keys = sequence.right_keys;
  return keys.size() - static_cast<std::size_t>(std::count(keys.begin(), keys.end(), std::nullopt));
}

}  // namespace

TEST_CASE("right keys of induction are found again by reading from left to right") {
  Generator random(1);
  for (std::size_t length = 6; length <= 38; ++length)
    for (int draw = 0; draw < 200; ++draw) {
      const auto sequence = corpora::draw_induction(random, length);
      REQUIRE(sequence.tokens.size() == length);
      REQUIRE(sequence.right_keys == right_keys_of(sequence.tokens));
      REQUIRE(count_keys(sequence) == length / 6);
    }
}

TEST_CASE("after a token that has a right key comes the token of that key, which is in the first half") {
  Generator random(2);
  for (int draw = 0; draw < 2000; ++draw) {
    const auto sequence = corpora::draw_induction(random, 24);
    const auto& tokens = sequence.tokens;
    for (std::size_t position = 0; position < tokens.size(); ++position) {
      const auto key = sequence.right_keys[position];
      if (!key) continue;
      REQUIRE(position >= 12);
      REQUIRE(position + 1 < tokens.size());
      REQUIRE(*key < 12);
      REQUIRE(tokens[*key] == tokens[position + 1]);
      REQUIRE(std::count(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(position),
                         tokens[position]) == 1);
    }
  }
}

TEST_CASE("every token of a sequence of induction is below the token count, and each is drawn") {
  Generator random(3);
  std::set<std::size_t> seen;
  for (int draw = 0; draw < 500; ++draw)
    for (const auto token : corpora::draw_induction(random, 12, 30).tokens) seen.insert(token);
  CHECK(seen.size() == 30);
  CHECK(*seen.rbegin() == 29);
}

TEST_CASE("neither the token nor the position nor the distance tells what follows a token of induction") {
  Generator random(4);
  std::set<std::size_t> tokens_after_token_0, keys_of_position_15, distances;
  for (int draw = 0; draw < 20000; ++draw) {
    const auto sequence = corpora::draw_induction(random, 24);
    for (std::size_t position = 0; position < 24; ++position) {
      const auto key = sequence.right_keys[position];
      if (!key) continue;
      distances.insert(position - *key);
      if (position == 15) keys_of_position_15.insert(*key);
      if (sequence.tokens[position] == 0) tokens_after_token_0.insert(sequence.tokens[position + 1]);
    }
  }
  CHECK(tokens_after_token_0.size() == 25);
  CHECK(keys_of_position_15.size() == 11);
  CHECK(distances.size() == 21);
}

TEST_CASE("a third or more of the first half of a sequence of induction does not come again") {
  Generator random(5);
  for (int draw = 0; draw < 500; ++draw) {
    const auto tokens = corpora::draw_induction(random, 24).tokens;
    const auto again = std::count_if(tokens.begin(), tokens.begin() + 12, [&](std::size_t token) {
      return std::count(tokens.begin() + 12, tokens.end(), token) > 0;
    });
    REQUIRE(again == 8);
  }
}

TEST_CASE("a seed gives the same sequences of induction everywhere") {
  Generator random(42);
  const auto sequence = corpora::draw_induction(random, 12);
  CHECK(sequence.tokens == std::vector<std::size_t>{7, 15, 21, 20, 17, 5, 18, 21, 20, 25, 7, 15});
  RightKeys right_keys(12);
  right_keys[7] = 3;
  right_keys[10] = 1;
  CHECK(sequence.right_keys == right_keys);
}

TEST_CASE("a sequence of induction is refused where it has no room or no tokens") {
  Generator random(0);
  CHECK_THROWS_WITH(corpora::draw_induction(random, 5),
                    "in 5 tokens no pair comes twice; valid: a length of 6 or more");
  CHECK_THROWS_WITH(corpora::draw_induction(random, 40),
                    "26 different tokens are too few for a sequence of 40; valid: 28 or more");
  CHECK(corpora::draw_induction(random, 40, 28).tokens.size() == 40);
}

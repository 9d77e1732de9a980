#include "corpora/induction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/error.hpp"
#include "corpora/draw.hpp"

namespace corpora {

namespace {

constexpr std::size_t tokens_for_a_pair = 6;

std::size_t repeated_pairs(std::size_t length) {
  return length / tokens_for_a_pair;
}

void require_possible_induction(std::size_t length, std::size_t token_count) {
  if (length < tokens_for_a_pair)
    throw attn::Error(fmt::format("in {} tokens no pair comes twice; valid: a length of {} or more", length,
                                  tokens_for_a_pair));
  if (token_count < fewest_induction_tokens(length))
    throw attn::Error(fmt::format("{} different tokens are too few for a sequence of {}; valid: {} or more",
                                  token_count, length, fewest_induction_tokens(length)));
}

/// Where `count` pairs begin in `length` tokens that do not overlap, every choice being equally likely: where
/// they are if each takes up one place, then moved by the pairs before.
std::vector<std::size_t> draw_pair_starts(attn::Random& random, std::size_t length, std::size_t count) {
  auto starts = draw_order(random, length - count);
  starts.resize(count);
  std::sort(starts.begin(), starts.end());
  for (std::size_t pair = 0; pair < count; ++pair) starts[pair] += pair;
  return starts;
}

void append_token(InductionSequence& sequence, std::size_t token,
                  std::optional<std::size_t> right_key = std::nullopt) {
  sequence.tokens.push_back(token);
  sequence.right_keys.push_back(right_key);
}

void append_pair_again(InductionSequence& sequence, std::size_t start) {
  append_token(sequence, sequence.tokens[start], start + 1);
  append_token(sequence, sequence.tokens[start + 1]);
}

}  // namespace

std::size_t fewest_induction_tokens(std::size_t length) {
  return length - 2 * repeated_pairs(length);
}

InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count) {
  require_possible_induction(length, token_count);
  const auto half = length / 2;
  const auto pairs = repeated_pairs(length);
  const auto tokens = draw_order(random, token_count);
  const auto starts = draw_pair_starts(random, half, pairs);

  InductionSequence sequence;
  auto next_token = tokens.begin();
  while (sequence.tokens.size() < half) append_token(sequence, *next_token++);
  const auto new_tokens = length - half - 2 * pairs;
  for (const auto part : draw_order(random, pairs + new_tokens)) {
    if (part < pairs)
      append_pair_again(sequence, starts[part]);
    else
      append_token(sequence, *next_token++);
  }
  return sequence;
}

}  // namespace corpora

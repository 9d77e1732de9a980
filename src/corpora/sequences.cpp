#include "corpora/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/error.hpp"
#include "corpora/draw.hpp"

namespace corpora {

std::vector<std::string> symbol_labels(std::size_t count) {
  constexpr std::size_t letters = 26;
  std::vector<std::string> labels;
  for (std::size_t symbol = 0; symbol < count; ++symbol) {
    labels.emplace_back(1, static_cast<char>('a' + symbol % letters));
    if (symbol >= letters) labels.back() += std::to_string(symbol / letters);
  }
  return labels;
}

std::vector<std::size_t> draw_reverse(attn::Random& random, std::size_t length, std::size_t symbol_count) {
  if (length == 0) throw attn::Error("a sequence of length 0 cannot be reversed; valid: 1 or more");
  if (symbol_count == 0) throw attn::Error("a sequence of 0 symbols cannot be drawn; valid: 1 or more");
  std::vector<std::size_t> symbols;
  for (std::size_t i = 0; i < length; ++i) symbols.push_back(draw_index(random, symbol_count));
  return symbols;
}

namespace {

/// Where `count` pairs begin in `length` tokens that do not overlap, every choice being equally likely: where
/// they are if each takes up one place, then moved by the pairs before.
std::vector<std::size_t> draw_pair_starts(attn::Random& random, std::size_t length, std::size_t count) {
  auto starts = draw_order(random, length - count);
  starts.resize(count);
  std::sort(starts.begin(), starts.end());
  for (std::size_t pair = 0; pair < count; ++pair) starts[pair] += pair;
  return starts;
}

}  // namespace

InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count) {
  constexpr std::size_t tokens_for_a_pair = 6;
  const std::size_t half = length / 2, pairs = length / tokens_for_a_pair, fewest = length - 2 * pairs;
  if (length < tokens_for_a_pair)
    throw attn::Error(fmt::format("in {} tokens no pair comes twice; valid: a length of {} or more", length,
                                  tokens_for_a_pair));
  if (token_count < fewest)
    throw attn::Error(fmt::format("{} different tokens are too few for a sequence of {}; valid: {} or more",
                                  token_count, length, fewest));
  const auto tokens = draw_order(random, token_count);
  const auto starts = draw_pair_starts(random, half, pairs);
  InductionSequence sequence;
  const auto append = [&](std::size_t token, std::optional<std::size_t> right_key = std::nullopt) {
    sequence.tokens.push_back(token);
    sequence.right_keys.push_back(right_key);
  };
  auto next_token = tokens.begin();
  while (sequence.tokens.size() < half) append(*next_token++);
  const auto new_tokens = length - half - 2 * pairs;
  for (const auto part : draw_order(random, pairs + new_tokens)) {
    if (part < pairs) {
      append(sequence.tokens[starts[part]], starts[part] + 1);
      append(sequence.tokens[starts[part] + 1]);
    } else {
      append(*next_token++);
    }
  }
  return sequence;
}

}  // namespace corpora

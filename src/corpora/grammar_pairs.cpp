#include "corpora/grammar_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "attn/error.hpp"
#include "corpora/draw_distinct.hpp"

namespace corpora {

namespace {

constexpr std::size_t longer_than_trained = 25, validation_pairs = 500;

/// Gives held-out pairs of a small grammar to the training until they are a tenth of both, at least one.
void leave_a_tenth(GrammarPairs& pairs) {
  const std::size_t all = pairs.training.size() + pairs.held_out.size();
  if (all < 2)
    throw attn::Error(fmt::format("the grammar has {} sentences of up to {} words; valid: two or more", all,
                                  longest_in_training));
  const auto kept = std::min(pairs.held_out.size(), std::max<std::size_t>(all / 10, 1));
  const auto first = pairs.held_out.begin() + static_cast<std::ptrdiff_t>(kept);
  std::move(first, pairs.held_out.end(), std::back_inserter(pairs.training));
  pairs.held_out.erase(first, pairs.held_out.end());
}

}  // namespace

GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer) {
  std::unordered_set<std::string> drawn;
  const auto draw = [&](std::size_t count, std::size_t fewest_words, std::size_t most_words) {
    auto some = draw_distinct(grammar, random, count, fewest_words, most_words, drawn);
    for (const auto& pair : some) drawn.insert(source_text(pair));
    return some;
  };
  GrammarPairs pairs;
  pairs.held_out = draw(held_out, 1, longest_in_training);
  pairs.training = draw(training, 1, longest_in_training);
  leave_a_tenth(pairs);
  if (longer > 0) pairs.longer = draw(longer, longest_in_training + 1, longer_than_trained);
  pairs.validation = draw(validation_pairs, 1, longest_in_training);
  return pairs;
}

std::vector<std::string> texts(const std::vector<SourceWord>& words) {
  std::vector<std::string> result;
  for (const auto& word : words) result.push_back(word.text);
  return result;
}

}  // namespace corpora

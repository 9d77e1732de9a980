#include "corpora/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/text_file.hpp"

namespace corpora {

namespace {

void add_forms(const Word& word, std::set<std::string>& vocabulary) {
  vocabulary.insert(word.text);
  if (!word.before_vowel.empty()) vocabulary.insert(word.before_vowel);
}

constexpr std::string_view valid_grammar = "a text file with a grammar";

}  // namespace

Grammar::Grammar(GrammarText text)
    : text_(std::make_unique<const GrammarText>(std::move(text))), compiled_(compile(*text_)) {}

Grammar Grammar::read(std::string_view text, std::string_view file_name) {
  return Grammar(parse_grammar(text, file_name));
}

Grammar Grammar::load(const std::string& path) {
  return read(attn::text_of_file(path, valid_grammar), path);
}

std::vector<std::size_t> Grammar::lengths() const {
  const auto& weights = compiled_.states[compiled_.start].weights;
  std::vector<std::size_t> result;
  for (std::size_t length = 1; length <= longest_sentence; ++length)
    if (weights[length] > 0.0) result.push_back(length);
  return result;
}

SentencePair Grammar::draw(attn::Random& random, std::size_t length) const {
  const auto& weights = compiled_.states[compiled_.start].weights;
  if (length > longest_sentence || weights[length] <= 0.0)
    throw attn::Error(fmt::format("{} has no sentence of {} words; valid: {}", text_->file_name, length,
                                  fmt::join(lengths(), ", ")));
  return draw_pair(*text_, compiled_, random, length);
}

std::optional<SentencePair> Grammar::translate(const std::vector<std::string>& words) const {
  return derive(*text_, compiled_, words);
}

std::vector<std::string> Grammar::source_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_.states)
    for (const auto& entry : state.entries) add_forms(*entry.source, words);
  return {words.begin(), words.end()};
}

std::vector<std::string> Grammar::target_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_.states) {
    for (const auto& entry : state.entries)
      for (const auto& word : *entry.target) add_forms(word, words);
    for (const auto& alternative : state.alternatives)
      for (const auto& item : alternative.rule->target)
        for (const auto& word : item.words) add_forms(word, words);
  }
  std::vector<std::string> all(words.begin(), words.end());
  for (const auto& [parts, contraction] : text_->contractions)
    if (words.count(parts.first) > 0 && words.count(parts.second) > 0) all.push_back(contraction);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

GrammarFile::GrammarFile(const std::string& path)
    : text_(parse_grammar(attn::text_of_file(path, valid_grammar), path)) {}

std::optional<SentencePair> GrammarFile::translate(const std::vector<std::string>& words) const {
  const auto text = only_of(words, text_);
  return derive(text, compile_without_weights(text), words);
}

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

namespace {

/// After so many repetitions in a row a length is taken to have no further sentence.
constexpr std::size_t most_repetitions = 1000;

constexpr std::size_t most_reserved = 1'000'000;

struct OpenLength {
  std::size_t words;
  std::size_t repetitions = 0;  ///< in a row
};

std::vector<OpenLength> open_lengths(const Grammar& grammar, std::size_t shortest, std::size_t longest) {
  std::vector<OpenLength> open;
  for (const auto length : grammar.lengths())
    if (length >= shortest && length <= longest) open.push_back({length});
  return open;
}

}  // namespace

std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded) {
  auto open = open_lengths(grammar, shortest, longest);
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> drawn;
  pairs.reserve(std::min(count, most_reserved));
  drawn.reserve(std::min(count, most_reserved));
  while (pairs.size() < count && !open.empty()) {
    const auto index = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(open.size())));
    auto pair = grammar.draw(random, open[index].words);
    auto text = source_text(pair);
    if (excluded.count(text) == 0 && drawn.insert(std::move(text)).second) {
      open[index].repetitions = 0;
      pairs.push_back(std::move(pair));
    } else if (++open[index].repetitions == most_repetitions) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  return pairs;
}

}  // namespace corpora

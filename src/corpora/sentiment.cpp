#include "corpora/sentiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/text/text_file.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "corpora/sequences.hpp"

namespace corpora {

namespace {

using Words = std::vector<std::string>;

/// The words that every sentence is built with.
const Words frame_words = {"the", "was", "it", "a", "an", "would", "but"};

const Words names_of_lists = {
    "nouns",          "viewers",        "positive adjectives", "negative adjectives",
    "positive verbs", "negative verbs", "intensifiers",        "negators",
    "asides"};

bool is_lexicon_word(std::string_view text) {
  return !text.empty() && attn::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Reads the lists of words and tells what is wrong with them.
class SentimentReader {
 public:
  explicit SentimentReader(const std::string& path)
      : lines_(path, "a line NAME: WORD, WORD, … in the letters a to z", std::size_t{1} << 20) {
    for (const auto& word : frame_words) roles_[word] = "words that sentences are built with";
  }

  std::map<std::string, Words> lists() {
    while (const auto line = lines_.next())
      if (const auto content = attn::trimmed(*line); !content.empty() && content.front() != '#')
        read_line(content);
    return std::move(lists_);
  }

 private:
  void read_line(std::string_view line) {
    const auto colon = line.find(':');
    if (colon == line.npos) lines_.fail(attn::in_message(line) + " has no colon");
    const std::string name(attn::trimmed(line.substr(0, colon)));
    if (!attn::contains(names_of_lists, name))
      lines_.fail(attn::in_message(name) + " is not the name of a list",
                  fmt::format("{}", fmt::join(names_of_lists, ", ")));
    for (const auto entry : attn::pieces_of(line.substr(colon + 1), ","))
      add(name, std::string(attn::trimmed(entry)));
  }

  void add(const std::string& name, const std::string& entry) {
    const bool is_phrase = name == "asides";
    for (const auto& word : is_phrase ? attn::split(entry, ' ') : Words{entry})
      give_role(word, name, is_phrase);
    auto& list = lists_[name];
    if (attn::contains(list, entry))
      lines_.fail(attn::in_message(entry) + " is there twice", "each word once");
    list.push_back(entry);
  }

  /// Asides may share words with each other.
  void give_role(const std::string& word, const std::string& role, bool may_share) {
    if (!is_lexicon_word(word)) lines_.fail(attn::in_message(word) + " is no word");
    const auto [known, is_new] = roles_.emplace(word, role);
    if (!is_new && !(may_share && known->second == role))
      lines_.fail(attn::in_message(word) + " is already among the " + known->second, "each word in one role");
  }

  attn::TextLines lines_;
  std::map<std::string, Words> lists_;
  std::map<std::string, std::string> roles_;
};

}  // namespace

SentimentCorpus SentimentCorpus::load(const std::string& path) {
  SentimentCorpus corpus;
  auto& lists = corpus.lists_ = SentimentReader(path).lists();
  for (const auto& name : names_of_lists)
    if (lists.count(name) == 0)
      throw attn::Error(
          fmt::format("{} has no {}; valid: lists of {}", path, name, fmt::join(names_of_lists, ", ")));
  const auto negators = lists["negators"].size();
  if (negators < 2)
    throw attn::Error(
        fmt::format("{} has one negator, and one of each word is kept for testing; valid: 2 or more", path));
  for (const std::string kind : {"adjectives", "verbs"})
    for (const bool is_positive : {false, true}) {
      const auto& texts = lists[(is_positive ? "positive " : "negative ") + kind];
      for (std::size_t i = 0; i < texts.size(); ++i)
        corpus.words_[is_positive].push_back({texts[i], is_positive, kind == "verbs", i % negators});
    }
  return corpus;
}

LabelledSentence SentimentCorpus::draw(attn::Random& random) const {
  const bool is_positive = draw_once_in(random, 2);
  return with_or_without_contrast(random, draw_clause(random, is_positive));
}

LabelledSentence SentimentCorpus::draw_unseen_pair(attn::Random& random) const {
  const bool is_positive = draw_once_in(random, 2);
  const auto& word = draw_from(random, words_[!is_positive]);
  const auto& negator = lists_.at("negators")[word.unseen_negator];
  return with_or_without_contrast(random, draw_around(random, word, negator, ""));
}

std::vector<std::string> SentimentCorpus::vocabulary() const {
  std::set<std::string> words(frame_words.begin(), frame_words.end());
  for (const auto& [name, entries] : lists_)
    for (const auto& entry : entries)
      for (const auto& word : attn::split(entry, ' ')) words.insert(word);
  return {words.begin(), words.end()};
}

LabelledSentence SentimentCorpus::with_or_without_contrast(attn::Random& random,
                                                           LabelledSentence last) const {
  if (!draw_once_in(random, 4)) return last;
  auto words = draw_clause(random, !last.is_positive).words;
  last.contrast = words.size();
  words.push_back("but");
  last.sentiment_word += words.size();
  if (last.negator) *last.negator += words.size();
  words.insert(words.end(), last.words.begin(), last.words.end());
  last.words = std::move(words);
  return last;
}

LabelledSentence SentimentCorpus::draw_clause(attn::Random& random, bool is_positive) const {
  const bool is_negated = draw_once_in(random, 2);
  const auto& word = draw_from(random, words_[is_positive != is_negated]);
  if (is_negated) {
    const auto& negators = lists_.at("negators");
    const auto seen = draw_index(random, negators.size() - 1);
    return draw_around(random, word, negators[seen < word.unseen_negator ? seen : seen + 1], "");
  }
  const bool is_intensified = !word.is_verb && draw_once_in(random, 2);
  return draw_around(random, word, "", is_intensified ? draw_from(random, lists_.at("intensifiers")) : "");
}

LabelledSentence SentimentCorpus::draw_around(attn::Random& random, const SentimentWord& word,
                                              const std::string& negator,
                                              const std::string& intensifier) const {
  const auto aside = draw_once_in(random, 3) ? draw_from(random, lists_.at("asides")) : "";
  const auto& noun = draw_from(random, lists_.at("nouns"));
  const auto viewer = word.is_verb ? draw_from(random, lists_.at("viewers")) : "";
  const bool is_before_noun = !word.is_verb && draw_once_in(random, 2);
  LabelledSentence sentence;
  auto& words = sentence.words;
  words = word.is_verb     ? Words{viewer, "would"}
          : is_before_noun ? Words{"it", "was"}
                           : Words{"the", noun, "was"};
  if (!negator.empty()) sentence.negator = words.size();
  const auto append = [&](std::string_view phrase) {
    for (const auto one : attn::words_in(phrase)) words.emplace_back(one);
  };
  append(negator);
  append(aside);
  if (is_before_noun) {
    const char next = (intensifier.empty() ? word.text : intensifier).front();
    append(std::string_view("aeiou").find(next) != std::string_view::npos ? "an" : "a");
  }
  append(intensifier);
  sentence.sentiment_word = words.size();
  append(word.text);
  if (word.is_verb) append("the");
  if (word.is_verb || is_before_noun) append(noun);
  sentence.is_positive = word.is_positive != sentence.negator.has_value();
  return sentence;
}

}  // namespace corpora

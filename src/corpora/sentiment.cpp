#include "corpora/sentiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "corpora/draw.hpp"

namespace corpora {

namespace {

/// The words that every sentence is built with: "the", "was", ….
const std::vector<std::string>& sentiment_frame_words() {
  static const std::vector<std::string> words{"the", "was", "it", "a", "an", "would", "but"};
  return words;
}

/// The parts of a text between single separators, without spaces around them.
std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(attn::trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

using WordList = std::vector<std::string> SentimentLexicon::*;

struct LexiconSection {
  std::string_view name;
  WordList list;
};

constexpr std::array<LexiconSection, 9> lexicon_sections{{
    {"nouns", &SentimentLexicon::nouns},
    {"viewers", &SentimentLexicon::viewers},
    {"positive adjectives", &SentimentLexicon::positive_adjectives},
    {"negative adjectives", &SentimentLexicon::negative_adjectives},
    {"positive verbs", &SentimentLexicon::positive_verbs},
    {"negative verbs", &SentimentLexicon::negative_verbs},
    {"intensifiers", &SentimentLexicon::intensifiers},
    {"negators", &SentimentLexicon::negators},
    {"asides", &SentimentLexicon::asides},
}};

constexpr std::string_view valid_lexicon_line = "a line NAME: WORD, WORD, … in the letters a to z";

/// A text from a lexicon as it can stand in a message: escaped, and short.
std::string in_lexicon_message(std::string_view text) {
  return attn::shorten(fmt::format("{:?}", text.substr(0, 200)), 60);
}

bool is_lexicon_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string names_of_sections() {
  std::string names;
  for (const auto& section : lexicon_sections)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", section.name);
  return names;
}

/// The text of a file that is no directory, no device and not too long.
std::string read_lexicon_file(const std::string& path) {
  constexpr std::size_t longest_file = std::size_t{1} << 20;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw attn::Error(fmt::format("{} is a directory; valid: a file of the form of sentiment.txt", path));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw attn::Error(fmt::format("{} cannot be opened: {}; valid: a file of the form of sentiment.txt", path,
                                  std::strerror(errno)));
  std::string text(longest_file + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > longest_file)
    throw attn::Error(fmt::format("{} is too long; valid: up to {} bytes", path, longest_file));
  return text;
}

class LexiconReader {
 public:
  explicit LexiconReader(const std::string& path) : path_(path) {
    for (const auto& word : sentiment_frame_words()) roles_[word] = "words that sentences are built with";
  }

  SentimentLexicon read() {
    std::istringstream text(read_lexicon_file(path_));
    std::string line;
    while (std::getline(text, line)) {
      ++line_number_;
      const auto content = attn::trimmed(line);
      if (!content.empty() && content.front() != '#') read_line(content);
    }
    require_complete();
    return lexicon_;
  }

 private:
  void read_line(std::string_view line) {
    const auto colon = line.find(':');
    if (colon == line.npos)
      fail(fmt::format("{} has no colon", in_lexicon_message(line)), valid_lexicon_line);
    const auto& section = find_section(attn::trimmed(line.substr(0, colon)));
    for (const auto& entry : split_at(line.substr(colon + 1), ',')) add(section, entry);
  }

  const LexiconSection& find_section(std::string_view name) const {
    const auto found = std::find_if(lexicon_sections.begin(), lexicon_sections.end(),
                                    [&](const LexiconSection& section) { return section.name == name; });
    if (found == lexicon_sections.end())
      fail(fmt::format("{} is not the name of a list", in_lexicon_message(name)), names_of_sections());
    return *found;
  }

  void add(const LexiconSection& section, const std::string& entry) {
    const bool is_phrase = section.list == &SentimentLexicon::asides;
    for (const auto& word : is_phrase ? split_at(entry, ' ') : std::vector<std::string>{entry})
      give_role(word, section.name, is_phrase);
    auto& list = lexicon_.*section.list;
    if (std::find(list.begin(), list.end(), entry) != list.end())
      fail(fmt::format("{} is there twice", in_lexicon_message(entry)), "each word once");
    list.push_back(entry);
  }

  /// Asides may share words with each other.
  void give_role(const std::string& word, std::string_view role, bool may_share) {
    if (!is_lexicon_word(word))
      fail(fmt::format("{} is no word", in_lexicon_message(word)), valid_lexicon_line);
    const auto [known, is_new] = roles_.emplace(word, role);
    if (!is_new && !(may_share && known->second == role))
      fail(fmt::format("{} is already among the {}", in_lexicon_message(word), known->second),
           "each word in one role");
  }

  void require_complete() const {
    for (const auto& section : lexicon_sections)
      if ((lexicon_.*section.list).empty())
        throw attn::Error(
            fmt::format("{} has no {}; valid: lists of {}", path_, section.name, names_of_sections()));
    if (lexicon_.negators.size() < 2)
      throw attn::Error(fmt::format(
          "{} has one negator, and one of each word is kept for testing; valid: 2 or more", path_));
  }

  [[noreturn]] void fail(std::string_view problem, std::string_view valid) const {
    throw attn::Error(fmt::format("{}, line {}: {}; valid: {}", path_, line_number_, problem, valid));
  }

  std::string path_;
  std::size_t line_number_ = 0;
  SentimentLexicon lexicon_;
  std::map<std::string, std::string_view> roles_;
};

}  // namespace

SentimentLexicon SentimentLexicon::load(const std::string& path) {
  return LexiconReader(path).read();
}

namespace {

void append_words(std::vector<std::string>& words, const std::string& phrase) {
  if (phrase.empty()) return;
  for (auto& word : split_at(phrase, ' ')) words.push_back(std::move(word));
}

std::string article_before(const std::string& word) {
  return std::string("aeiou").find(word.front()) != std::string::npos ? "an" : "a";
}

}  // namespace

SentimentCorpus::SentimentCorpus(SentimentLexicon lexicon) : lexicon_(std::move(lexicon)) {
  add_words(lexicon_.positive_adjectives, true, false);
  add_words(lexicon_.negative_adjectives, false, false);
  add_words(lexicon_.positive_verbs, true, true);
  add_words(lexicon_.negative_verbs, false, true);
}

SentimentCorpus SentimentCorpus::load(const std::string& path) {
  return SentimentCorpus(SentimentLexicon::load(path));
}

void SentimentCorpus::add_words(const std::vector<std::string>& texts, bool is_positive, bool is_verb) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    words_[is_positive].push_back({texts[i], is_positive, is_verb, i % lexicon_.negators.size()});
}

LabelledSentence SentimentCorpus::draw(attn::Random& random) const {
  const bool is_positive = draw_once_in(random, 2);
  return with_or_without_contrast(random, draw_clause(random, is_positive));
}

LabelledSentence SentimentCorpus::draw_unseen_pair(attn::Random& random) const {
  const bool is_positive = draw_once_in(random, 2);
  return with_or_without_contrast(random, draw_unseen_clause(random, is_positive));
}

std::vector<LabelledSentence> SentimentCorpus::unseen_pair_sentences() const {
  std::vector<LabelledSentence> sentences;
  for (const auto& words : words_)
    for (const auto& word : words)
      for (const auto& noun : lexicon_.nouns) append_unseen_clauses(sentences, word, noun);
  return sentences;
}

void SentimentCorpus::append_unseen_clauses(std::vector<LabelledSentence>& sentences,
                                            const SentimentWord& word, const std::string& noun) const {
  ClauseParts parts;
  parts.word = &word;
  parts.negator = lexicon_.negators[word.unseen_negator];
  parts.noun = noun;
  if (word.is_verb) {
    for (const auto& viewer : lexicon_.viewers) {
      parts.viewer = viewer;
      sentences.push_back(clause(parts));
    }
    return;
  }
  for (const bool has_word_before_noun : {false, true}) {
    parts.has_word_before_noun = has_word_before_noun;
    sentences.push_back(clause(parts));
  }
}

const std::string& SentimentCorpus::unseen_negator(const std::string& word) const {
  for (const auto& words : words_)
    for (const auto& candidate : words)
      if (candidate.text == word) return lexicon_.negators[candidate.unseen_negator];
  throw attn::Error(fmt::format("{} is no adjective or verb of the task sentiment; valid: one of its lexicon",
                                attn::shorten(fmt::format("{:?}", word), 60)));
}

std::vector<std::string> SentimentCorpus::vocabulary() const {
  const auto& frame = sentiment_frame_words();
  std::set<std::string> words(frame.begin(), frame.end());
  for (const auto* list : {&lexicon_.nouns, &lexicon_.viewers, &lexicon_.intensifiers, &lexicon_.negators})
    words.insert(list->begin(), list->end());
  for (const auto& sentiment_words : words_)
    for (const auto& word : sentiment_words) words.insert(word.text);
  for (const auto& aside : lexicon_.asides)
    for (const auto& word : split_at(aside, ' ')) words.insert(word);
  return {words.begin(), words.end()};
}

std::size_t SentimentCorpus::longest_sentence() const {
  ClauseParts longest;
  longest.word = &words_[true].front();
  longest.negator = lexicon_.negators.front();
  longest.noun = lexicon_.nouns.front();
  longest.has_word_before_noun = true;
  std::size_t longest_clause = 0;
  for (const auto& aside : lexicon_.asides) {
    longest.aside = aside;
    longest_clause = std::max(longest_clause, clause(longest).words.size());
  }
  return 2 * longest_clause + 1;
}

std::vector<std::string> SentimentCorpus::clause_until_negator(const ClauseParts& parts) {
  if (parts.word->is_verb) return {parts.viewer, "would"};
  if (parts.has_word_before_noun) return {"it", "was"};
  return {"the", parts.noun, "was"};
}

LabelledSentence SentimentCorpus::clause(const ClauseParts& parts) {
  LabelledSentence sentence;
  auto& words = sentence.words;
  words = clause_until_negator(parts);
  if (!parts.negator.empty()) sentence.negator = words.size();
  append_words(words, parts.negator);
  append_words(words, parts.aside);

  if (parts.has_word_before_noun)
    words.push_back(article_before(parts.intensifier.empty() ? parts.word->text : parts.intensifier));
  append_words(words, parts.intensifier);
  sentence.sentiment_word = words.size();
  words.push_back(parts.word->text);

  if (parts.word->is_verb) words.push_back("the");
  if (parts.word->is_verb || parts.has_word_before_noun) words.push_back(parts.noun);
  sentence.is_positive = parts.word->is_positive != sentence.negator.has_value();
  return sentence;
}

LabelledSentence SentimentCorpus::contrasted(const LabelledSentence& first, LabelledSentence second) {
  auto words = first.words;
  words.push_back("but");
  const auto moved = words.size();
  words.insert(words.end(), second.words.begin(), second.words.end());
  second.words = std::move(words);
  second.contrast = moved - 1;
  second.sentiment_word += moved;
  if (second.negator) *second.negator += moved;
  return second;
}

LabelledSentence SentimentCorpus::with_or_without_contrast(attn::Random& random,
                                                           LabelledSentence last) const {
  if (!draw_once_in(random, 4)) return last;
  const auto first = draw_clause(random, !last.is_positive);
  return contrasted(first, std::move(last));
}

LabelledSentence SentimentCorpus::draw_clause(attn::Random& random, bool is_positive) const {
  const bool is_negated = draw_once_in(random, 2);
  ClauseParts parts;
  parts.word = &draw_from(random, words_[is_positive != is_negated]);
  if (is_negated)
    parts.negator = draw_seen_negator(random, *parts.word);
  else if (!parts.word->is_verb && draw_once_in(random, 2))
    parts.intensifier = draw_from(random, lexicon_.intensifiers);
  return draw_parts_around(random, std::move(parts));
}

LabelledSentence SentimentCorpus::draw_unseen_clause(attn::Random& random, bool is_positive) const {
  ClauseParts parts;
  parts.word = &draw_from(random, words_[!is_positive]);
  parts.negator = lexicon_.negators[parts.word->unseen_negator];
  return draw_parts_around(random, std::move(parts));
}

LabelledSentence SentimentCorpus::draw_parts_around(attn::Random& random, ClauseParts parts) const {
  if (draw_once_in(random, 3)) parts.aside = draw_from(random, lexicon_.asides);
  parts.noun = draw_from(random, lexicon_.nouns);
  if (parts.word->is_verb)
    parts.viewer = draw_from(random, lexicon_.viewers);
  else
    parts.has_word_before_noun = draw_once_in(random, 2);
  return clause(parts);
}

const std::string& SentimentCorpus::draw_seen_negator(attn::Random& random, const SentimentWord& word) const {
  const auto index = draw_index(random, lexicon_.negators.size() - 1);
  return lexicon_.negators[index < word.unseen_negator ? index : index + 1];
}

}  // namespace corpora

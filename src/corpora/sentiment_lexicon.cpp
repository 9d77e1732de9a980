#include "corpora/sentiment_lexicon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"

namespace corpora {

namespace {

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

const std::vector<std::string>& sentiment_frame_words() {
  static const std::vector<std::string> words{"the", "was", "it", "a", "an", "would", "but"};
  return words;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(attn::trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

}  // namespace corpora

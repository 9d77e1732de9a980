#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "attn/ops/measure.hpp"
#include "attn/text/tokens.hpp"
#include "english/lexicon.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/model.hpp"

namespace {

using Words = std::vector<std::string>;

/// "it#2": the second "it" of the sentence.
std::optional<std::size_t> place_of(const std::string& name, const Words& words) {
  const auto mark = name.find('#', 1);
  auto left = mark == name.npos ? 1 : std::stoi(name.substr(mark + 1));
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == name.substr(0, mark) && --left == 0) return i;
  return std::nullopt;
}

Words parts_of(const std::string& text, char separator) {
  Words parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part.substr(part.find_first_not_of(' ')));
  return parts;
}

struct Marks {
  std::size_t right = 0, all = 0, unplaced = 0;
  double weight = 0;

  double share_right() const { return static_cast<double>(right) / static_cast<double>(all); }
};

/// By sentence and word: the words that it may be about.
using Marked = std::map<std::string, std::map<std::string, Words>>;

/// Adds the marks of a file.
void read_marks(const std::string& file, Marked& marked) {
  std::ifstream lines(std::string(ATTN_FIXTURES) + "/about/" + file);
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    const auto bar = line.find(" | ");
    for (const auto& mark : parts_of(line.substr(bar + 3), ';')) {
      const auto space = mark.find(' ');
      auto& targets = marked[line.substr(0, bar)][mark.substr(0, space)];
      for (auto& target : parts_of(mark.substr(space + 1), '|')) targets.push_back(std::move(target));
    }
  }
}

/// How the first head of the second layer of the shipped model does on the marks of some readers, of whom
/// each one's mark counts. A word that looks at what a pronoun stands for is right where the pronoun is
/// marked: "it was tired".
Marks marks_of(const Words& files) {
  Marked marked;
  for (const auto& file : files) read_marks(file, marked);
  Marks marks;
  for (const auto& [sentence, targets_of] : marked) {
    const auto words = english::with_contractions_cut(attn::tokenize(sentence));
    const auto weights = lessons::layers_of_about(*attn::shipped_model("about"), words).second_weights;
    const auto looks_at = [&](std::size_t query) {
      return attn::argmax(&weights(0, 0, query, 0), words.size());
    };
    for (const auto& [word, targets] : targets_of) {
      const auto query = place_of(word, words);
      double weight = 0;
      bool is_right = false;
      for (const auto& name : targets) {
        const auto target = place_of(name, words);
        if (!query || !target) {
          ++marks.unplaced;
          UNSCOPED_INFO(sentence << " | " << word << " " << name);
          continue;
        }
        for (const auto key : {*target, looks_at(*target)}) {
          is_right = is_right || looks_at(*query) == key;
          weight = std::max(weight, weights(0, 0, *query, key));
        }
      }
      if (!is_right) UNSCOPED_INFO(sentence << " | " << word);
      ++marks.all;
      marks.right += is_right ? 1 : 0;
      marks.weight += weight;
    }
  }
  return marks;
}

}  // namespace

TEST_CASE("the model about finds what words of sentences that nobody made for it are about", "[english]") {
  const auto marks = marks_of({"marks.txt", "second_marks.txt"});
  CHECK(marks.all == 392);
  CHECK(marks.unplaced == 0);
  CHECK(marks.share_right() >= 0.94);
  CHECK(marks.weight / static_cast<double>(marks.all) >= 0.6);  // training asks for 0.75
}

TEST_CASE("the model about finds whom a pronoun stands for where number, person or a predicate decides",
          "[english]") {
  const auto marks = marks_of({"pairs.txt"});
  CHECK(marks.all == 80);
  CHECK(marks.unplaced == 0);
  CHECK(marks.share_right() >= 0.85);
}

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <sstream>

#include "attn/ops/measure.hpp"
#include "attn/text/tokens.hpp"
#include "english/word_features.hpp"
#include "lessons/trained/about.hpp"
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

/// How the first head of the second layer of the shipped model does on the marks of a file. A word that looks
/// at what a pronoun stands for is right where the pronoun is marked: "it was tired".
Marks marks_of(const std::string& file) {
  std::ifstream lines(std::string(ATTN_FIXTURES) + "/about/" + file);
  Marks marks;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    const auto bar = line.find(" | ");
    const auto words = english::with_contractions_cut(attn::tokenize(line.substr(0, bar)));
    const auto weights = lessons::layers_of_about(*attn::shipped_model("about"), words).second_weights;
    const auto looks_at = [&](std::size_t query) {
      return attn::argmax(&weights(0, 0, query, 0), words.size());
    };
    for (const auto& mark : parts_of(line.substr(bar + 3), ';')) {
      const auto space = mark.find(' ');
      const auto query = place_of(mark.substr(0, space), words);
      double weight = 0;
      bool is_right = false;
      for (const auto& name : parts_of(mark.substr(space + 1), '|')) {
        const auto target = place_of(name, words);
        if (!query || !target) {
          ++marks.unplaced;
          continue;
        }
        for (const auto key : {*target, looks_at(*target)}) {
          is_right = is_right || looks_at(*query) == key;
          weight = std::max(weight, weights(0, 0, *query, key));
        }
      }
      ++marks.all;
      marks.right += is_right ? 1 : 0;
      marks.weight += weight;
    }
  }
  return marks;
}

}  // namespace

TEST_CASE("the model about finds what words of sentences that nobody made for it are about", "[english]") {
  const auto marks = marks_of("marks.txt");
  CHECK(marks.all == 383);
  CHECK(marks.unplaced == 0);
  CHECK(marks.share_right() >= 0.95);
  CHECK(marks.weight / static_cast<double>(marks.all) >= 0.9);
}

TEST_CASE("the model about finds whom a pronoun stands for where number, person or a predicate decides",
          "[english]") {
  const auto marks = marks_of("pairs.txt");
  CHECK(marks.all == 80);
  CHECK(marks.unplaced == 0);
  CHECK(marks.share_right() >= 0.85);
}

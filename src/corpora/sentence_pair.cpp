#include "corpora/sentence_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "attn/lists.hpp"
#include "attn/text/width.hpp"

namespace corpora {

bool is_stand_in(const std::string& word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']';
}

std::vector<std::string> texts(const std::vector<SourceWord>& words) {
  return attn::each_of(words, &SourceWord::text);
}

std::string source_text(const SentencePair& pair) {
  return fmt::format("{}", fmt::join(texts(pair.source), " "));
}

std::string target_text(const SentencePair& pair) {
  return in_writing(pair.target);
}

std::string in_writing(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) {
    const bool stands_alone = !text.empty() && !is_joined(text) && word != "." && word != ",";
    text += (stands_alone ? " " : "") + word;
  }
  return text;
}

const std::string& form_before(const Word& word, const Word* next) {
  const bool has_other_form = next != nullptr && next->begins_with_vowel && !word.before_vowel.empty();
  return has_other_form ? word.before_vowel : word.text;
}

bool is_joined(const std::string& form) {
  constexpr std::string_view typographic_apostrophe = "’";
  return form.ends_with('\'') || form.ends_with(typographic_apostrophe);
}

void put_together(const TargetWords& target, const Contractions& contractions, SentencePair& pair) {
  const auto& words = target.words;
  std::vector<std::size_t> places;
  places.reserve(words.size());
  pair.target.clear();
  pair.target.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& form = form_before(*words[i], i + 1 < words.size() ? words[i + 1] : nullptr);
    const auto contraction =
        pair.target.empty() ? contractions.end() : contractions.find({pair.target.back(), form});
    if (contraction != contractions.end())
      pair.target.back() = contraction->second;
    else
      pair.target.push_back(form);
    places.push_back(pair.target.size() - 1);
  }
  pair.links = target.links;
  for (auto& link : pair.links) link.target = places[link.target];
  const auto is_before = [](const Link& a, const Link& b) {  // sure before possible
    return std::tuple(a.source, a.target, b.is_sure) < std::tuple(b.source, b.target, a.is_sure);
  };
  const auto links_the_same = [](const Link& a, const Link& b) {
    return a.source == b.source && a.target == b.target;
  };
  std::sort(pair.links.begin(), pair.links.end(), is_before);
  pair.links.erase(std::unique(pair.links.begin(), pair.links.end(), links_the_same), pair.links.end());
}

void AlignmentErrors::add(const SentencePair& pair, const Alignment& alignment) {
  made_ += alignment.size();
  for (const auto& link : pair.links) {
    sure_ += link.is_sure;
    if (alignment[link.target] != link.source) continue;
    in_sure_ += link.is_sure;
    ++in_possible_;
  }
}

double AlignmentErrors::rate() const {
  return 1 - static_cast<double>(in_sure_ + in_possible_) / static_cast<double>(made_ + sure_);
}

std::vector<std::string> drawn_links(const SentencePair& pair, const Alignment& looks) {
  constexpr std::size_t most_columns = 66;
  std::size_t first = 0, all = 0;
  for (const auto& word : pair.target) first = std::max(first, attn::display_width(word) + 2);
  std::vector<std::size_t> widths;
  for (const auto& word : pair.source) {
    widths.push_back(std::max<std::size_t>(3, attn::display_width(word.text)) + 1);
    all += widths.back();
  }
  const bool names_columns = first + all <= most_columns;
  if (!names_columns) std::fill(widths.begin(), widths.end(), 3);
  std::vector<std::string> lines;
  auto header = std::string(first, ' ');
  for (std::size_t j = 0; j < widths.size(); ++j)
    header += attn::pad_right(attn::pad_left(pair.source[j].text, 3), widths[j]);
  if (names_columns) lines.push_back(header.substr(0, header.find_last_not_of(' ') + 1));
  for (std::size_t t = 0; t < pair.target.size(); ++t) {
    auto line = attn::pad_right(pair.target[t], first);
    for (std::size_t j = 0; j < widths.size(); ++j) {
      const auto link = std::find_if(pair.links.begin(), pair.links.end(),
                                     [&](const Link& one) { return one.source == j && one.target == t; });
      const bool is_linked = link != pair.links.end();
      const char mark = looks[t] == j ? '*' : is_linked ? ' ' : '.';
      const auto* around = !is_linked ? " {} " : link->is_sure ? "({})" : "?{}?";
      line += attn::pad_right(fmt::format(fmt::runtime(around), mark), widths[j]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

}  // namespace corpora

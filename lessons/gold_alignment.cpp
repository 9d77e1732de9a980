#include "lessons/gold_alignment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"
#include "trace/data_folder.hpp"

namespace lessons {

std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source) {
  return corpora::Grammar::translate(attn::data_folder("corpora") + "/english-french.grammar", source);
}

corpora::Alignment strongest_of_rows(const attn::Tensor<2>& weights, std::size_t words) {
  corpora::Alignment alignment;
  for (std::size_t t = 0; t < words; ++t) {
    const double* row = &weights(t, 0);
    alignment.push_back(attn::argmax(row, weights.shape(1)));
  }
  return alignment;
}

std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair) {
  std::vector<std::set<std::size_t>> links(pair.target.size());
  for (const auto& link : pair.links) links[link.target].insert(link.source);
  return links;
}

std::vector<std::string> drawn_links(const corpora::SentencePair& pair, const corpora::Alignment& looks) {
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
  const auto gold = gold_links(pair);
  for (std::size_t t = 0; t < pair.target.size(); ++t) {
    auto line = attn::pad_right(pair.target[t], first);
    for (std::size_t j = 0; j < widths.size(); ++j) {
      const bool is_gold = gold[t].count(j) > 0;
      const char mark = looks[t] == j ? '*' : is_gold ? ' ' : '.';
      line += attn::pad_right(is_gold ? fmt::format("({})", mark) : fmt::format(" {} ", mark), widths[j]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

}  // namespace lessons

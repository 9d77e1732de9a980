#include "corpora/alignment_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attn/text/width.hpp"

namespace corpora {

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

namespace {

std::optional<Link> link_between(const SentencePair& pair, std::size_t source, std::size_t target) {
  const auto found = std::find_if(pair.links.begin(), pair.links.end(), [&](const Link& link) {
    return link.source == source && link.target == target;
  });
  return found == pair.links.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

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
      const auto link = link_between(pair, j, t);
      const char mark = looks[t] == j ? '*' : link ? ' ' : '.';
      const auto* around = !link ? " {} " : link->is_sure ? "({})" : "?{}?";
      line += attn::pad_right(fmt::format(fmt::runtime(around), mark), widths[j]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

}  // namespace corpora

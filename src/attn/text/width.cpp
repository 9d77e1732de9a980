#include "attn/text/width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "attn/lists.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"

namespace attn {

namespace {

constexpr char32_t soft_hyphen = U'\u00AD';
constexpr char32_t emoji_variation_selector = U'\uFE0F';

bool is_printable_ascii(std::string_view text) {
  return all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; });
}

/// Letters of Latin and Greek, signs of mathematics and boxes, each one column wide whatever stands beside it
/// of these.
bool is_narrow_alone(char32_t code_point) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {U' ', U'~'},     {0x00A1, soft_hyphen - 1}, {soft_hyphen + 1, 0x02FF}, {0x0370, 0x03FF},
      {0x1D00, 0x1DBF}, {0x2010, 0x2027},          {0x2030, 0x205E},          {0x2070, 0x20BF},
      {0x2100, 0x22FF}, {0x2500, 0x259F},          {0x2C60, 0x2C7F}};
  return any_of(ranges,
                [&](const auto& range) { return range.first <= code_point && code_point <= range.second; });
}

/// Characters that draw nothing or draw onto the one before.
bool takes_no_column(char32_t code_point) {
  return is_mark_or_control(code_point) || is_later_jamo(code_point) ||
         (is_default_ignorable(code_point) && code_point != soft_hyphen);
}

std::size_t code_point_width(char32_t code_point) {
  if (takes_no_column(code_point)) return 0;
  return is_wide(code_point) ? 2 : 1;
}

/// The pair of regional indicators that is a flag needs no rule: each of the two is one column wide.
std::size_t cluster_width(std::string_view cluster) {
  const auto characters = code_points(cluster);
  const bool has_selector = characters.find(emoji_variation_selector) != std::u32string::npos;
  if (has_selector && is_emoji(characters.front())) return 2;
  const auto width = std::accumulate(characters.begin(), characters.end(), std::size_t{0},
                                     [](std::size_t sum, char32_t c) { return sum + code_point_width(c); });
  return is_pictographic(characters.front()) ? std::min<std::size_t>(width, 2) : width;
}

/// The words of one paragraph on lines. A word longer than a line has as many clusters on each as fit, at
/// least one; the spaces at which a line breaks are dropped.
std::vector<std::string> wrap_paragraph(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto append = [&](std::string_view piece, std::size_t columns) {
    lines.back() += piece;
    used += columns;
  };
  const auto break_line = [&] {
    if (!lines.back().empty()) lines.emplace_back();
    used = 0;
  };
  while (true) {
    const auto spaces = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(spaces);
    if (text.empty()) return lines;
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const auto columns = display_width(word);
    const bool fits = spaces + columns <= width - std::min(width, used);
    fits ? append(std::string(spaces, ' '), spaces) : break_line();
    if (fits || columns <= width) {
      append(word, columns);
      continue;
    }
    for (const auto cluster : grapheme_clusters(word)) {
      const auto of_cluster = display_width(cluster);
      if (used + of_cluster > width) break_line();
      append(cluster, of_cluster);
    }
  }
}

/// Bytes of the control character, line separator or mark of direction that a text begins with; 0 for others.
std::size_t control_length(std::string_view text) {
  const std::pair<std::string_view, std::string_view> ranges[] = {{{"\0", 1}, "\x1F"},
                                                                  {"\x7F", "\x7F"},
                                                                  {"\u0080", "\u009F"},
                                                                  {"\u2028", "\u202E"},
                                                                  {"\u2066", "\u2069"}};
  for (const auto& [first, last] : ranges) {
    const auto start = text.substr(0, first.size());
    if (start.size() == first.size() && start >= first && start <= last) return first.size();
  }
  return 0;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (is_printable_ascii(text)) return text.size();
  const auto characters = code_points(text);
  if (all_of(characters, is_narrow_alone)) return characters.size();
  std::size_t width = 0;
  for (const auto cluster : grapheme_clusters(text)) width += cluster_width(cluster);
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  constexpr std::string_view ellipsis = "…";
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string prefix;
  std::size_t used = display_width(ellipsis);
  for (const auto cluster : grapheme_clusters(text)) {
    used += display_width(cluster);
    if (used > width) break;
    prefix += cluster;
  }
  return prefix += ellipsis;
}

std::string in_message(std::string_view text) {
  return shorten(fmt::format("{:?}", text.substr(0, 200)), 60);
}

std::string pad_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  return std::string(text).append(width - std::min(width, display_width(text)), ' ');
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto part : pieces_of(text, "\n"))
    for (auto& line : wrap_paragraph(part, width)) lines.push_back(std::move(line));
  return lines;
}

std::string paragraph(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  for (const auto& line : wrap(text, width - indent)) lines += std::string(indent, ' ') + line + '\n';
  return lines;
}

std::string printable(std::string_view text) {
  const auto is_visible_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  std::string result;
  while (!text.empty()) {
    const std::size_t control = is_visible_ascii(text.front()) ? 0 : control_length(text);
    if (control == 0) {
      result += text.front();
    } else {
      const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x20;
      result += is_ascii ? std::string("\xE2\x90") + static_cast<char>(0x80 + text.front()) : "�";
    }
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return result;
}

std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[")
      i = std::min(text.find_first_not_of("0123456789;", i + 2), text.size());
    else if (text[i] != '\r')
      plain += text[i];
  }
  return plain;
}

}  // namespace attn

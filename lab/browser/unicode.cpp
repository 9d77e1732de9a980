#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <unordered_map>

#include "attn/text/utf8.hpp"

extern "C" {
int browser_properties(int code_point);
char* browser_changed(const char* text, int length, int to_lower);
std::int32_t* browser_ends(const char* text, int length, int of_words);
}

/// What needs Unicode's tables, from the browser: its Intl.Segmenter, String.normalize and regular
/// expressions. See unicode.js.
namespace attn {

namespace {

enum Property { white_space = 1, default_ignorable = 2, mark_or_control = 4, emoji = 8, pictographic = 16 };

struct Range {
  char32_t first, last;
};

constexpr Range wide[] = {
#include "wide.inc"
};

bool has(Property property, char32_t code_point) {
  static std::unordered_map<char32_t, int> known;
  const auto [place, is_new] = known.try_emplace(code_point, 0);
  if (is_new) place->second = browser_properties(static_cast<int>(code_point));
  return (place->second & property) != 0;
}

std::string changed(std::string_view text, bool to_lower) {
  char* const copy = browser_changed(text.data(), static_cast<int>(text.size()), to_lower);
  std::string result(copy);
  std::free(copy);
  return result;
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return byte >= ' ' && byte < 0x7F; });
}

/// Whether all its characters stand before U+0300, the first combining mark: they are in normal form.
bool is_before_combining_marks(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0xCC; });
}

/// Characters that are clusters of their own beside each other: letters and signs of formulas and drawings.
constexpr Range single[] = {{U' ', U'~'},     {0xA1, 0xAC},     {0xAE, 0x2FF},    {0x370, 0x3FF},
                            {0x1D00, 0x1DBF}, {0x1E00, 0x1EFF}, {0x2010, 0x2027}, {0x2030, 0x205E},
                            {0x2070, 0x209C}, {0x2190, 0x2319}, {0x2500, 0x25FF}};

bool is_single(char32_t code_point) {
  return std::any_of(std::begin(single), std::end(single), [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

/// The characters of a text, where each is a cluster of its own, else nothing. What is no valid UTF-8 is not.
std::vector<std::string_view> single_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (const char32_t code_point : code_points(text)) {
    if (!is_single(code_point)) return {};
    const std::size_t length = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : 3;
    characters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

std::vector<std::string_view> segments(std::string_view text, bool of_words) {
  auto* const ends = browser_ends(text.data(), static_cast<int>(text.size()), of_words);
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::int32_t i = 0; i < ends[0]; ++i) {
    const auto end = static_cast<std::size_t>(ends[i + 1]);
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  std::free(ends);
  return pieces;
}

}  // namespace

std::string nfc(std::string_view text) {
  return is_before_combining_marks(text) ? std::string(text) : changed(text, false);
}

std::string lower_case(std::string_view text) {
  if (!is_printable_ascii(text)) return changed(text, true);
  std::string lower(text);
  for (auto& byte : lower)
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  return lower;
}

std::vector<std::string_view> grapheme_clusters(std::string_view text) {
  auto characters = single_characters(text);
  return characters.empty() ? segments(text, false) : characters;
}

std::vector<std::string_view> word_segments(std::string_view text) {
  return segments(text, true);
}

bool is_white_space(char32_t code_point) {
  return has(white_space, code_point);
}

bool is_default_ignorable(char32_t code_point) {
  return has(default_ignorable, code_point);
}

bool is_mark_or_control(char32_t code_point) {
  return has(mark_or_control, code_point);
}

bool is_later_jamo(char32_t code_point) {
  return (code_point >= 0x1160 && code_point <= 0x11FF) || (code_point >= 0xD7B0 && code_point <= 0xD7C6) ||
         (code_point >= 0xD7CB && code_point <= 0xD7FB);
}

bool is_wide(char32_t code_point) {
  const auto* const after = std::upper_bound(std::begin(wide), std::end(wide), code_point,
                                             [](char32_t c, const Range& range) { return c < range.first; });
  return after != std::begin(wide) && code_point <= std::prev(after)->last;
}

bool is_emoji(char32_t code_point) {
  return has(emoji, code_point);
}

bool is_pictographic(char32_t code_point) {
  return has(pictographic, code_point);
}

}  // namespace attn

#include "attn/text/utf8.hpp"

#include <fmt/format.h>
#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/utext.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "attn/error.hpp"

namespace attn {

namespace {

/// ICU counts in 32 bits.
std::int32_t length_of(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw std::length_error(fmt::format("[utf8] a text of {} bytes is too long", text.size()));
  return static_cast<std::int32_t>(text.size());
}

void require_success(UErrorCode status, const char* action) {
  if (U_FAILURE(status))
    throw std::runtime_error(fmt::format("[icu] cannot {}: {}", action, u_errorName(status)));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

/// A character and how many bytes it takes.
struct Character {
  char32_t code_point;
  std::size_t length;
};

/// The character that begins at `offset`, where it is well-formed: no byte missing, none too many, no
/// surrogate.
std::optional<Character> character_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) {
    return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0U;
  };
  const char32_t first = byte(0);
  if (first < 0x80) return Character{first, 1};
  if (first < 0xC2 || first > 0xF4) return std::nullopt;

  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code_point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t smallest_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest_of_length[length] || code_point > 0x10FFFF || is_surrogate) return std::nullopt;
  return Character{code_point, length};
}

using MakeIterator = icu::BreakIterator*(const icu::Locale&, UErrorCode&);

/// An iterator for the root locale: boundaries must not depend on the language of whoever runs the program.
std::unique_ptr<icu::BreakIterator> make_iterator(MakeIterator* make) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> iterator(make(icu::Locale::getRoot(), status));
  require_success(status, "open a break iterator");
  return iterator;
}

std::vector<std::string_view> split(std::string_view text, icu::BreakIterator& iterator) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UText, decltype(&utext_close)> utext(
      utext_openUTF8(nullptr, text.data(), length_of(text), &status), &utext_close);
  iterator.setText(utext.get(), status);
  require_success(status, "read a text");

  std::vector<std::string_view> pieces;
  auto start = static_cast<std::size_t>(iterator.first());
  for (auto end = iterator.next(); end != icu::BreakIterator::DONE; end = iterator.next()) {
    pieces.push_back(text.substr(start, static_cast<std::size_t>(end) - start));
    start = static_cast<std::size_t>(end);
  }
  return pieces;
}

}  // namespace

void require_valid_utf8(std::string_view text, std::string_view what) {
  for (std::size_t offset = 0; offset < text.size();) {
    const auto character = character_at(text, offset);
    if (!character)
      throw Error(fmt::format("{} is not valid UTF-8: byte 0x{:02X} at offset {}; valid: text in UTF-8", what,
                              static_cast<unsigned char>(text[offset]), offset));
    offset += character->length;
  }
}

std::string nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  const auto* normalizer = icu::Normalizer2::getNFCInstance(status);
  require_success(status, "load the normalization data");
  std::string normalized;
  icu::StringByteSink<std::string> sink(&normalized);
  normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), length_of(text)), sink, nullptr, status);
  require_success(status, "normalize a text");
  return normalized;
}

std::string lower_case(std::string_view text) {
  std::string lowered;
  icu::StringByteSink<std::string> sink(&lowered);
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), length_of(text)), sink, nullptr, status);
  require_success(status, "turn a text to lower case");
  return lowered;
}

std::u32string code_points(std::string_view text) {
  std::u32string result;
  for (std::size_t offset = 0; offset < text.size();) {
    const auto character = character_at(text, offset).value_or(Character{U'\uFFFD', 1});
    result += character.code_point;
    offset += character.length;
  }
  return result;
}

std::vector<std::string_view> grapheme_clusters(std::string_view text) {
  static thread_local const auto iterator = make_iterator(&icu::BreakIterator::createCharacterInstance);
  return split(text, *iterator);
}

std::vector<std::string_view> word_segments(std::string_view text) {
  static thread_local const auto iterator = make_iterator(&icu::BreakIterator::createWordInstance);
  return split(text, *iterator);
}

}  // namespace attn

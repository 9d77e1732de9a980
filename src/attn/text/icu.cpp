#include <fmt/format.h>
#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>

#include "attn/lists.hpp"
#include "attn/text/utf8.hpp"

/// What needs Unicode's tables, from ICU.
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
  return all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
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

bool has(UProperty property, char32_t code_point) {
  return u_hasBinaryProperty(static_cast<UChar32>(code_point), property);
}

int value_of(UProperty property, char32_t code_point) {
  return u_getIntPropertyValue(static_cast<UChar32>(code_point), property);
}

}  // namespace

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

std::vector<std::string_view> grapheme_clusters(std::string_view text) {
  static thread_local const auto iterator = make_iterator(&icu::BreakIterator::createCharacterInstance);
  return split(text, *iterator);
}

std::vector<std::string_view> word_segments(std::string_view text) {
  static thread_local const auto iterator = make_iterator(&icu::BreakIterator::createWordInstance);
  return split(text, *iterator);
}

bool is_white_space(char32_t code_point) {
  return u_isUWhiteSpace(static_cast<UChar32>(code_point));
}

bool is_default_ignorable(char32_t code_point) {
  return has(UCHAR_DEFAULT_IGNORABLE_CODE_POINT, code_point);
}

bool is_mark_or_control(char32_t code_point) {
  constexpr std::uint32_t categories =
      U_GC_CC_MASK | U_GC_MN_MASK | U_GC_ME_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK;
  return U_MASK(u_charType(static_cast<UChar32>(code_point))) & categories;
}

bool is_later_jamo(char32_t code_point) {
  const auto type = value_of(UCHAR_HANGUL_SYLLABLE_TYPE, code_point);
  return type == U_HST_VOWEL_JAMO || type == U_HST_TRAILING_JAMO;
}

bool is_wide(char32_t code_point) {
  const auto width = value_of(UCHAR_EAST_ASIAN_WIDTH, code_point);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

bool is_emoji(char32_t code_point) {
  return has(UCHAR_EMOJI, code_point);
}

bool is_pictographic(char32_t code_point) {
  return has(UCHAR_EXTENDED_PICTOGRAPHIC, code_point);
}

}  // namespace attn

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Unicode text in UTF-8. All but the check itself want valid UTF-8; what is not is read as U+FFFD.

/// Throws Error that begins with `what` (the name of an option, a place in a file) and tells the first byte
/// that belongs to no well-formed character, and its offset.
void require_valid_utf8(std::string_view text, std::string_view what);

/// Normalization Form C (UAX #15): an "e" and a combining acute accent become "é".
std::string nfc(std::string_view text);

/// Lower case, in no language in particular.
std::string lower_case(std::string_view text);

std::u32string code_points(std::string_view text);

/// The text cut into what a reader takes for single characters (extended grapheme clusters, UAX #29): a
/// letter with its accents, a whole emoji sequence.
std::vector<std::string_view> grapheme_clusters(std::string_view text);

/// The text cut at its word boundaries (UAX #29; Chinese, Japanese, Thai… by dictionaries). Pieces of white
/// space and punctuation are among them: together they are the text.
std::vector<std::string_view> word_segments(std::string_view text);

// What Unicode says of a character.

bool is_white_space(char32_t code_point);

/// Whether a renderer without support for the character should show nothing (UAX #44,
/// Default_Ignorable_Code_Point).
bool is_default_ignorable(char32_t code_point);

/// Controls, marks that draw onto the character before, and separators of lines and paragraphs: categories
/// Cc, Mn, Me, Zl and Zp.
bool is_mark_or_control(char32_t code_point);

/// The vowels and final consonants of a Korean syllable that is spelt out.
bool is_later_jamo(char32_t code_point);

/// Whether it takes two columns of a terminal (UAX #11, East_Asian_Width W and F).
bool is_wide(char32_t code_point);

bool is_emoji(char32_t code_point);
bool is_pictographic(char32_t code_point);

}  // namespace attn

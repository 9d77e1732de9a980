#pragma once

/// What Unicode says of a character.
namespace attn {

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

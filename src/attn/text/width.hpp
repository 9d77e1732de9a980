#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The text with signs in place of the characters that would move the cursor or reorder a line.
std::string printable(std::string_view text);

/// The text without a terminal's colours and without the carriage returns of other systems' line ends.
std::string without_colours(std::string_view text);

/// Columns that a text takes in a terminal: wide East Asian characters and emoji count two, combining marks,
/// joiners, variation selectors and control characters none, an emoji sequence as one emoji.
std::size_t display_width(std::string_view text);

/// The longest prefix of whole grapheme clusters, followed by "…", that fits; `text` itself where it fits.
std::string shorten(std::string_view text, std::size_t width);

std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

/// A text from a file as it can stand in a message: escaped, and short.
std::string in_message(std::string_view text);

/// The lines of a text broken at spaces (or, in a word longer than a line, between grapheme clusters) so that
/// none is wider than `width`, unless a single cluster is. No line ends with a space that was broken at;
/// spaces at the start of a paragraph indent its first line only. Every newline starts another paragraph, so
/// that a text has at least one line more than it has newlines.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// The columns of a page of text, where nobody asks for others.
inline constexpr std::size_t usual_width = 80;

/// The same lines as a text of at most `width` columns, each with `indent` spaces before it and a newline
/// behind it.
std::string paragraph(std::string_view text, std::size_t width = usual_width, std::size_t indent = 2);

}  // namespace attn

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The text without those characters at its ends, as a part of it.
std::string_view trimmed(std::string_view text, std::string_view characters = " \t\r\n");

/// What stands between the separators, one part more than there are of these: as parts of the text, and as
/// texts of their own.
std::vector<std::string_view> pieces_of(std::string_view text, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

/// What stands between spaces and tabs, without empty parts.
std::vector<std::string_view> words_in(std::string_view line);

/// The number that the whole word is, `-inf` and `nan` among them.
std::optional<double> number_in(std::string_view word);

/// The finite number that the whole text is, in decimal digits with or without an exponent; none for anything
/// else and for what is too large or too small for a double.
std::optional<double> parse_number(std::string_view text);

/// The words of a command as a shell takes it apart: cut at blanks, but for those in single or double quotes
/// and those behind a backslash.
std::vector<std::string> shell_words(std::string_view command);

}  // namespace attn

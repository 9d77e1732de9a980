#pragma once

#include <string_view>

namespace lab::book {

/// The files of this folder as they stand in the book.
std::string_view style_sheet();
std::string_view script();
std::string_view exercises();
std::string_view glossary();

/// The SHA-256 of the style sheet and of the script, in hexadecimal digits.
std::string_view style_sheet_sha256();
std::string_view script_sha256();

}  // namespace lab::book

#pragma once

#include <string>

namespace attn::html {

/// Text, called `name`, in which each character keeps its place: code, a drawing.
std::string preformatted(const std::string& text, const std::string& name);

/// The lines of a note, called `name`. Those that are laid out in columns become tables, with a header for
/// each row and, where the first line has words over numbers or begins in the second column, for each column;
/// a line that goes on in a single later column belongs to the row above it. The sentences between two tables
/// become paragraphs. Where nothing is laid out in columns, the text is preformatted.
std::string note_markup(const std::string& text, const std::string& name);

}  // namespace attn::html

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Lines of text, and the characters in them.
namespace attn {

/// Bytes of the UTF-8 character that a text begins with.
std::size_t character_length(std::string_view text);

enum class Height { line, below, above };

/// What stands for a sign in ASCII, empty for other characters, and where it stands: "ₜ" is a "t" below the
/// line.
struct Sign {
  Height height = Height::line;
  std::string ascii{};
};
const Sign& sign_of(std::string_view character);

/// The text with ASCII in the place of the signs of mathematics, arrows, quotation marks and drawings:
/// "softmax(Q K^T / sqrt d_k)", "head*d_v", "h_(t-1)". Letters of other scripts stay, since they are the
/// reader's.
std::string in_ascii(std::string_view text);

/// Whether a text is a picture of a mask.
bool is_picture(std::string_view text);

/// Whether a text draws with lines: a diagram, which nobody can read aloud.
bool is_drawing(std::string_view text);

/// The line with `end` at the right of a page of that width; none where there is no room for both.
std::optional<std::string> with_end(const std::string& line, const std::string& end, std::size_t width);

/// The lines of a heading with a title behind the last one and a shape at the right of it: in one line if
/// possible, else the title stands below, behind a margin.
std::vector<std::string> with_title(std::vector<std::string> heading, const std::string& title,
                                    const std::string& shape, std::size_t width, std::size_t margin);

/// The lines, the first one behind a start and the others behind a margin, without characters that would move
/// a cursor.
std::string hanging(const std::string& start, const std::vector<std::string>& lines, std::size_t margin);

/// A line across a page of that width.
std::string rule(std::size_t width);

/// What stands under "[HEADING]" in a text of such headings, up to the empty line before the next.
std::string_view text_under(std::string_view heading, std::string_view text);

/// The text with other words in each place of these.
std::string replaced(std::string text, std::string_view words, std::string_view others);

/// As many pieces on a line as fit; a piece is broken only where it is wider than a line.
std::vector<std::string> pack(const std::vector<std::string>& pieces, const std::string& separator,
                              std::size_t width);

namespace ansi {

inline constexpr std::string_view bold = "1", red = "31", green = "32";

/// The text between the escape sequences of a terminal that turn a style on and off again.
inline std::string styled(std::string_view text, std::string_view style) {
  return std::string("\x1b[").append(style).append("m").append(text).append("\x1b[0m");
}

}  // namespace ansi

}  // namespace attn

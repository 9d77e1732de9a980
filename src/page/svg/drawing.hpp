#pragma once

#include <string>
#include <string_view>

#include "page/svg/colours.hpp"

namespace attn::svg {

/// A part of a picture that starts at (0, 0), with the room that it takes.
struct Drawing {
  std::string elements{};
  double width = 0.0, height = 0.0;
  double left = 0.0;         ///< where what it is about begins, right of its labels
  bool lacks_words = false;  ///< since there is no room for them
};

/// The drawing at another place.
std::string at(double x, double y, const std::string& elements);

/// A length with one digit after the point, where it needs one.
std::string px(double length);

enum class Anchor { start, middle, end };

/// A line of text; `style` is a class of the style sheet without its prefix, `rotation` in degrees around
/// (x, y).
std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation = 0.0);

/// The size of the letters of labels, numbers and captions. A picture is some 920 wide: on a slide of
/// 1,920 pixels they have 27, in a column of 680 they have 10.
inline constexpr double font_size = 13.0;

/// How much wider bold letters are.
inline constexpr double bold = 1.12;

/// The width of a text in letters of that size, which no usual sans-serif font exceeds.
double text_width(std::string_view words, double size = font_size);

/// U+FFFE and U+FFFF, which no XML document may have, as U+FFFD.
std::string without_noncharacters(std::string words);

/// Words as text of an XML document, without characters that would move a cursor or reorder a line.
std::string escaped(std::string_view words);

/// A minus as people write it: U+2212.
std::string with_minus_sign(std::string number);

/// The rules of all pictures. Each is of a class that begins with "attn-", within such a class.
std::string style_sheet(bool follows_reader);

/// The class of what is drawn on such paper.
std::string_view class_of(Theme theme);

}  // namespace attn::svg

#pragma once

#include <string>
#include <string_view>

#include "page/svg/colours.hpp"

namespace attn::svg {

/// A part of a picture that starts at (0, 0), with the room that it takes.
struct Drawing {
  std::string elements{};
  double width = 0.0, height = 0.0;
  double left = 0.0;           ///< where what it is about begins, right of its labels
  bool lacks_words = false;    ///< since there is no room for them
  bool lacks_numbers = false;  ///< so that colours need a scale
};

/// The drawing at another place.
std::string at(double x, double y, const std::string& elements);

/// A length with one digit after the point, where it needs one.
std::string px(double length);

/// A rectangle of that colour with what stands in its element, a tooltip say.
std::string rectangle(double x, double y, double width, double height, const Colour& colour,
                      const std::string& inside = "");

enum class Anchor { start, middle, end };

/// The size of the smallest letters. In a column of 680 pixels, which is 880 wide, they have 10, on a slide
/// of 1,920, which is 960 wide, 26.
inline constexpr double font_size = 13.0;

/// A line of text; `style` is a class of the style sheet without its prefix, `rotation` in degrees around
/// (x, y), `size` that of letters which are larger than usual, in whole pixels up to 18.
std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation = 0.0, double size = font_size);

/// How far below the middle of a line of such letters they stand.
inline constexpr double baseline = 0.36;

/// How much wider bold letters are.
inline constexpr double bold = 1.12;

/// The width of a text in letters of that size, which no usual sans-serif font exceeds by much.
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

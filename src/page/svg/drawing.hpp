#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace attn::svg {

// Colours: those of all pictures, and of the shaded cells of a page of HTML.

enum class Theme { light, dark };

/// Red, green and blue, each from 0 to 255.
struct Colour {
  double red = 0.0, green = 0.0, blue = 0.0;
};

/// "#rrggbb".
std::string hex(const Colour& colour);

/// The contrast of two colours as WCAG 2 defines it: from 1 to 21.
double contrast(const Colour& one, const Colour& other);

/// The colour of a number from -1 to 1: nearly the paper's at 0, blue above, orange below, which every kind
/// of colour blindness tells apart. The further from 0, the darker on light paper and the lighter on dark
/// paper.
Colour shade(Theme theme, double place);

/// Black or white, whichever is easier to read on the colour.
Colour ink_on(const Colour& colour);

/// What is no number: the paper, words, words of less weight, lines beside numbers, and what is pointed at.
struct Palette {
  Colour paper, ink, muted, rule, mark;
};
const Palette& palette(Theme theme);

/// Attributes of what has a colour: it as `fill`, and as `color` that of words on it. They are those on light
/// paper; the class has those on dark paper.
std::string paint(const Colour& colour);
std::string paint_of_place(double place);
std::string paint_of_part(std::size_t part);  ///< one of several tables: they differ in lightness, too
std::string paint_of_mark();
std::string paint_of_line(std::size_t line);  ///< one of eight, with its own colour as `color`

/// Whether the program can pack bytes: not in a browser.
extern const bool can_pack;

/// Bytes in zlib's format (RFC 1950).
std::string packed(const std::string& bytes, int level);

/// Numbers as an image in the format PNG: each is a place from -1 to 1 as `shade` has it, −∞ lets all
/// through, and what is no other number is marked.
std::string png(const std::vector<double>& places, std::size_t width, Theme theme);

// Drawings.

/// What a drawing may take.
struct Room {
  double width, height;
};

enum class Anchor { start, middle, end };

/// The size of the smallest letters. In a column of 680 pixels, which is 880 wide, they have 10, on a slide
/// of 1,920, which is 960 wide, 26.
inline constexpr double font_size = 13.0;

/// How far below the middle of a line of such letters they stand.
inline constexpr double baseline = 0.36;

/// How much wider bold letters are.
inline constexpr double bold = 1.12;

/// A part of a picture that starts at (0, 0), with the room that it takes. A style is a class of the style
/// sheet without its prefix.
struct Drawing {
  std::string elements{};
  double width = 0.0, height = 0.0;
  double left = 0.0;           ///< where what it is about begins, right of its labels
  bool lacks_words = false;    ///< since there is no room for them
  bool lacks_numbers = false;  ///< so that colours need a scale

  void rectangle(double x, double y, double across, double down, std::string_view attributes);
  void frame(double x, double y, double across, double down, std::string_view style);
  void path(std::string_view style, const std::string& lines, std::string_view attributes = "");

  /// A line of words. `size` is that of letters which are larger than usual, in whole pixels up to 18;
  /// `rotation` is in degrees around (x, y).
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::start,
            std::string_view style = "", double size = font_size, double rotation = 0.0);

  /// Elements in a group with such attributes.
  void group(std::string_view attributes, const std::string& inside);

  /// Another drawing at that place, below this one, or right of it.
  void put(double x, double y, const Drawing& drawing);
  void put_below(double distance, const Drawing& drawing);
  void put_beside(double distance, const Drawing& drawing);
};

/// The words in lines of that width.
Drawing lines_of_text(const std::string& words, double width, double size, std::string_view style);

/// In the middle of that width.
Drawing in_the_middle(Drawing drawing, double width);

/// A length with one digit after the point, where it needs one.
std::string px(double length);

/// The format with lengths in it.
template <class... Lengths>
std::string in_px(std::string_view format, Lengths... lengths) {
  return fmt::format(fmt::runtime(format), px(lengths)...);
}

/// The width of a text in letters of that size, which no usual sans-serif font exceeds by much.
double text_width(std::string_view words, double size = font_size);
double widest(const std::vector<std::string>& words, double size = font_size);

/// U+FFFE and U+FFFF, which no XML document may have, as U+FFFD.
std::string without_noncharacters(std::string words);

/// Words as text of an XML document, without characters that would move a cursor or reorder a line.
std::string escaped(std::string_view words);

/// Both with a comma between them, where neither is empty.
std::string joined(const std::string& one, const std::string& other);

/// A minus as people write it: U+2212.
std::string with_minus_sign(std::string number);

/// The rules of all pictures, each of a class that begins with "attn-", within such a class: of a picture on
/// light paper, on dark paper, or on what the reader prefers ("attn-light", "attn-dark", "attn-auto").
std::string style_sheet(std::string_view theme);

/// Its parts, the files picture.css and theme.css: $picture, $paper … stand for that class and its colours.
std::string_view common_rules();
std::string_view theme_rules();

}  // namespace attn::svg

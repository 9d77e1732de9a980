#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// The colours of all pictures, and of the shaded cells of a page of HTML.
namespace attn::svg {

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

/// The colour of the line of that number, of eight; its name can be read in it.
Colour line_colour(Theme theme, std::size_t line);

/// Attributes of what has a colour: it as `fill`, and as `color` that of words on it. They are those on light
/// paper; the class has those on dark paper.
std::string paint(const Colour& colour);
std::string paint_of_place(double place);
std::string paint_of_part(std::size_t part);  ///< one of several tables: they differ in lightness, too
std::string paint_of_mark();
std::string paint_of_line(std::size_t line);  ///< with its own colour as `color`

/// The classes of all these on dark paper, within that selector.
std::string rules_of_dark_paints(std::string_view selector);

/// `place` of a shade in whole steps, of which so many are on each side of 0.
inline constexpr int shade_steps = 32;
int step_of(double place);

}  // namespace attn::svg

#pragma once

#include <string>
#include <string_view>

namespace attn::svg {

/// A part of a drawing that starts at (0, 0), with the room that it takes in pixels.
struct Drawing {
  std::string elements;
  double width = 0.0;
  double height = 0.0;
};

/// The drawing at another place.
std::string at(double x, double y, const std::string& elements);

enum class Anchor { start, middle, end };

/// A line of text; `style` is a class of the document's style sheet, `rotation` in degrees around (x, y).
std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation = 0.0);

/// Pixels that a text of that font size takes, estimated from its columns in a terminal.
double text_width(std::string_view words, double font_size);

std::string escaped(std::string_view words);

/// "#rrggbb" of a value from 0 to 1: from nearly white to dark blue.
std::string shade(double value);

/// Whether white text is easier to read than black on that shade.
bool is_dark(double value);

}  // namespace attn::svg

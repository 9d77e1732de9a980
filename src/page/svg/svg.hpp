#pragma once

#include <string>
#include <string_view>

#include "page/curve.hpp"
#include "trace/event.hpp"

namespace attn {

namespace svg {

/// A part of a drawing that starts at (0, 0), with the room that it takes in pixels.
struct Drawing {
  std::string elements;
  double width = 0.0;
  double height = 0.0;
  std::string description{};  ///< in words, for those who do not see it
};

/// The drawing at another place.
std::string at(double x, double y, const std::string& elements);

enum class Anchor { start, middle, end };

/// A line of text; `style` is a class of the document's style sheet, `rotation` in degrees around (x, y).
std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation = 0.0);

/// Pixels that a text of that font size takes, estimated from its columns in a terminal.
double text_width(std::string_view words, double font_size);

/// U+FFFE and U+FFFF, which no XML document may have, as U+FFFD.
std::string without_noncharacters(std::string words);

/// Words as text of an XML document, without characters that would move a cursor or reorder a line.
std::string escaped(std::string_view words);

/// "#rrggbb" of a value from 0 to 1: from nearly white to dark blue.
std::string shade(double value);

/// Whether white text is easier to read than black on that shade.
bool is_dark(double value);

/// The weights of a step [(batch×)(head×)query×key] as heatmaps side by side, with the names of both axes,
/// token labels, values where the cells have room for them, and a colour bar from 0 to 1. Of more than a
/// hundred tokens along an axis the first hundred are drawn, and the caption says so. A mask has dark cells
/// where a query may see a key. What a mask hides is hatched.
Drawing heatmaps(const Event& event);

/// Curves as lines, with ticks and, for several lines, their names.
Drawing line_plot(const Curves& curves);

/// The curves of a step over its last axis. A scale whose values span a factor of more than a hundred is
/// logarithmic, and says so.
Drawing line_plot(const Event& event);

}  // namespace svg

/// The pictures of a trace as one SVG document: each step of attention weights and each mask as heatmaps with
/// tokens on both axes, all heads of a sample side by side, and each curve as a plot. Narrow figures stand
/// side by side. Text is text, nothing is fetched
/// or run, and the colours follow the reader's light or dark scheme.
class SvgRenderer : public Sink {
 public:
  explicit SvgRenderer(const Header& header);
  void receive(const Event& event) override;

  /// Another figure, below the others, with a heading and a line under it.
  void draw(const std::string& heading, const std::string& line, const svg::Drawing& drawing);

  /// The document. Throws Error where the trace had neither weights nor a curve. Leaves the renderer empty.
  std::string finish();

 private:
  void place(const std::string& figure, double width, double height);

  std::string title_;
  std::string figures_;
  std::string descriptions_;
  double width_ = 0.0;
  double height_ = 0.0;     ///< down to the row that is being filled
  double row_width_ = 0.0;  ///< of the figures in that row
  double row_height_ = 0.0;
};

}  // namespace attn

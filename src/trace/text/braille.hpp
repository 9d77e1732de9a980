#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/text/curve.hpp"

namespace attn {

/// Dots that are set in a grid of Braille characters, two by four in each.
class BrailleCanvas {
 public:
  BrailleCanvas(std::size_t columns, std::size_t rows);

  /// In dots.
  int width() const { return static_cast<int>(2 * columns_); }
  int height() const { return static_cast<int>(4 * rows_); }

  /// x from the left, y from the bottom.
  void set(int x, int y);
  void draw_line(int x0, int y0, int x1, int y1);

  /// A character, its row counted from the top.
  std::string character(std::size_t column, std::size_t row) const;
  bool is_blank(std::size_t column, std::size_t row) const;
  std::string row(std::size_t row) const;

 private:
  std::size_t columns_, rows_;
  std::vector<unsigned> cells_;
};

/// Draws one of the curves over the whole canvas, with a gap wherever a value is not finite.
void draw(BrailleCanvas& canvas, const Curves& curves, const Curves::Line& line);

}  // namespace attn

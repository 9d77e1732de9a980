#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// A scale on which values are placed: linear, or logarithmic where all values are positive and the largest
/// is over a hundred times the smallest.
struct Scale {
  double low = 0.0;
  double high = 1.0;
  bool is_logarithmic = false;

  /// Where a value lies between low and high, from 0 to 1; 0.5 on a scale of one value.
  double place(double value) const;
};

/// The size of the largest finite value; 0 where there is none.
double largest_size(const std::vector<double>& values);

/// The scale of these values; those that are not finite are left out.
Scale scale_of(const std::vector<double>& values);

/// Round values to write beside a scale: powers of ten where it is logarithmic and three of them lie on it,
/// else those with 1, 2 and 5 in front, else some five at equal distances.
std::vector<double> ticks_of(const Scale& scale);

/// The value, which is above 0, or the next one that has one of these numbers, from 1 to below 10 and in
/// order, in front of a power of ten.
double round_up(double value, const std::vector<double>& fronts);

/// The scale from one round value to another; a logarithmic one as it is.
Scale with_round_ends(Scale scale);

/// A tensor whose last axis holds the points of a line: one line for each entry of the axes before it.
struct Curves {
  struct Line {
    std::string name;  ///< of the entry; empty for a tensor of rank 1
    std::vector<double> values;
    std::optional<std::size_t>
        style{};  ///< the number of its colour and dashes; none: its place among the lines
  };
  std::vector<double>
      positions;  ///< of the points: the labels of the last axis where they are numbers, else indices
  std::string axis;
  std::string value_name{};  ///< what the values are
  std::vector<Line> lines;
  Scale horizontal, vertical;

  bool is_one() const { return lines.size() == 1 && lines[0].name.empty(); }  ///< of a tensor of rank 1
};

/// The scale of all values of these lines.
Scale scale_of_lines(const std::vector<Curves::Line>& lines);

/// A value beside a scale: four digits, and whole numbers below a thousand million in full.
std::string tick(double value);

/// The curves of a step of rank 1 or 2; `by_column`: along the columns of a matrix, and not along its rows.
/// Where the values need a logarithmic scale, positions that grow eightfold get one as well, so that a power
/// of the position is a straight line. Where the step asks for linear scales, that of positive values begins
/// at 0.
Curves curves_of(const Event& event, bool by_column = false);

}  // namespace attn

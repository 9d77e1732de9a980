#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "page/curve.hpp"
#include "page/svg/drawing.hpp"

namespace attn::svg {

/// An axis of a matrix with its tokens, or as many indices.
struct Axis {
  std::string name{};
  std::vector<std::string> labels{};

  bool operator==(const Axis&) const = default;

  std::size_t size() const { return labels.size(); }
};

/// A copy of numbers in rows and columns.
struct Matrix {
  enum class Kind { shares, mask, numbers };
  Kind kind = Kind::numbers;
  Axis rows{}, columns{};
  std::vector<double> values{};           ///< row by row
  std::vector<bool> hidden{};             ///< by a mask, in the same order
  std::vector<std::size_t> parts{};       ///< which table each comes from, where it is made of several
  std::vector<std::string> part_names{};  ///< of these tables, or words below the names of rows
  std::vector<Colour> colours{};          ///< of the columns, where they have one
  std::optional<std::size_t> line{};      ///< whose colour bars have, those of the same caption

  double largest() const;  ///< of the finite values that are not hidden, in size; 0 where there is none
  bool has_negative() const;
};

/// What a picture points at, and what it says of it: a row, a column or a cell of a table, a bar, a line, a
/// point of it, a position or a value.
struct Mark {
  std::optional<std::size_t> row{}, column{};
  std::optional<double> value{};
  std::string words{};
  std::optional<std::size_t> last_row{};  ///< of several
};

/// One of the small pictures that stand beside each other.
struct Panel {
  std::string id{};                                     ///< of its tensor
  std::string caption{};                                ///< what tells it from the others
  std::variant<Matrix, Curves, std::string> content{};  ///< or a diagram as text
  std::vector<std::string> remarks{};                   ///< lines below the caption
  std::vector<Mark> marks{};
};

/// What all panels of a picture have in common.
struct Look {
  Theme theme = Theme::light;
  double scale = 1.0;    ///< where that of colours, widths and lengths ends
  double largest = 1.0;  ///< of the numbers
  bool has_negative = false;
  bool has_own_scales = false;    ///< each panel one
  std::optional<bool> numbers{};  ///< in cells; where not given, as long as they are readable
};

/// What a panel may take.
struct Room {
  double width, height;
};

/// Which labels a panel has: those of a neighbour may stand for its own.
struct Shown {
  bool rows = true, columns = true;
};

/// How a panel can be drawn: the room that it would like to have, what its labels take beside such a room,
/// and the drawing in the room that there is.
struct Kind {
  std::string_view name;
  Room (*wish)(const Panel& panel);
  Room (*beside)(const Panel& panel, const Room& room);
  Drawing (*draw)(const Panel& panel, const Look& look, const Room& room, const Shown& shown);
};

inline Room nothing_beside(const Panel&, const Room&) {
  return {0.0, 0.0};
}

/// Rows and columns as cells, each with a tooltip; the words of both axes, or ticks where these have no room;
/// numbers where they are readable. What is hidden is hatched, what is no number crossed out. More than 1,600
/// cells are an image.
extern const Kind heatmap;

/// Who looks on the left, at whom on the right, with lines as thick as the share.
extern const Kind arcs;

/// The shares of each row side by side in one bar.
extern const Kind stacks;

/// Each row as one colour: its three numbers are red, green and blue, from 0 to 1.
extern const Kind colours;

/// The numbers of one row as bars: of more than that many shares the 12 largest.
inline constexpr std::size_t most_bars = 16;
extern const Kind bars;

/// Curves with round ticks, each with its name where it ends.
extern const Kind lines;

/// The diagram of the computation: what leads to what, with the shapes of the run.
extern const Kind flow;

/// The colour that a row of red, green and blue, each from 0 to 1, says.
Colour colour_of_row(const Matrix& matrix, std::size_t row);

/// The kind of that name; null where there is none.
const Kind* kind_named(std::string_view name);

/// What is to be explained: colours that have no numbers in them, cells that are hidden, or are not a number.
struct Needs {
  bool colours = false, hidden = false, nan = false;
};

/// The colours or hatchings and what they mean in one line, for the panels of one kind; empty where they need
/// none.
Drawing legend(const Kind& kind, const Matrix& one, const Look& look, const Needs& needs);

/// A rectangle with nothing in it around what is pointed at.
std::string frame(double x, double y, double width, double height);

/// The numbers of a matrix in three digits or so; nothing for one that is hidden, or that would be written as
/// 0 and is none.
std::vector<std::string> short_numbers(const Matrix& matrix);

/// Whether numbers may stand in its cells: not in those of a mask, or of a table that is an image.
bool can_have_numbers(const Matrix& matrix);

/// `stroke="…"` of a line from a query to a key with a share of the scale from 0 to 1, where the thickest has
/// that width.
std::string arc_style(std::string_view colour, double place, double thickest);
inline constexpr std::string_view usual_arc = "#2171b5";

/// The width of the thickest line among so many words.
double thickest_arc(const Matrix& matrix);

/// Which lines are left out, as a sentence; empty where none are that anybody would see.
std::string remark_on_arcs(const Matrix& matrix, const Look& look);

/// The round number that is as large, or the next one.
double round_up(double value);

}  // namespace attn::svg

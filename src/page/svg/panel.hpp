#pragma once

#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "page/curve.hpp"
#include "page/svg/drawing.hpp"
#include "trace/event.hpp"

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
  static constexpr double hidden = -std::numeric_limits<double>::infinity();  ///< by a mask: no number
  enum class Kind { shares, mask, numbers };
  Kind kind = Kind::numbers;
  Axis rows{}, columns{};
  std::vector<double> values{};            ///< row by row
  std::vector<std::string> paints{};       ///< of the cells, where these do not follow from the values
  std::vector<std::string> words{};        ///< in the cells in place of numbers
  std::vector<std::string> row_remarks{};  ///< below the labels of the rows
};

/// What a picture points at, and what it says of it: a row, a column or a cell of a table, a bar, a line, a
/// point of it, a position or a value.
struct Mark {
  std::optional<std::size_t> row{}, column{};
  std::optional<double> value{};
  std::string words{};
  std::optional<std::size_t> last_row{};  ///< of several
};

/// How the numbers of a panel are shown, as in those beside it that are compared with it.
struct Look {
  double scale = 1.0;    ///< where that of colours, widths and lengths ends
  double largest = 1.0;  ///< of the numbers
  bool has_negative = false;
  std::optional<bool> numbers{};               ///< in cells; where not given, as long as they are readable
  std::vector<Theme> themes = {Theme::light};  ///< one, or both for the reader to choose from
};

struct Kind;

/// One of the small pictures that stand beside each other: a tensor or a part of it.
struct Panel {
  std::string id{};                                     ///< of its tensor
  std::string caption{};                                ///< what tells it from the others
  std::variant<Matrix, Curves, std::string> content{};  ///< or a diagram as text
  std::vector<std::string> remarks{};                   ///< lines below the caption
  std::vector<Mark> marks{};
  Look look{};
  const Kind* kind = nullptr;
  std::size_t order = 0;       ///< in the lesson's picture
  bool begins_column = false;  ///< beside what comes before
  bool can_grow = false;       ///< by other lines
  std::string place{};         ///< "head 0"
  Index at{};                  ///< the same along the axes before the panel's

  const Matrix* matrix() const { return std::get_if<Matrix>(&content); }
  Matrix* matrix() { return std::get_if<Matrix>(&content); }
};

/// Which labels a panel has: those of a neighbour may stand for its own.
struct Shown {
  bool rows = true, columns = true;
};

/// Panels of one kind, which are compared with each other and share a legend.
using Panels = std::vector<Panel*>;

/// How a panel can be drawn: the room that it would like to have, the drawing in the room that there is, what
/// its labels take beside such a room, and what colours, widths and hatchings mean in one line, where that is
/// to be said. `has_colours`: they have no numbers in them.
struct Kind {
  std::string_view name;
  Room (*wish)(const Panel& panel);
  Drawing (*draw)(const Panel& panel, const Room& room, const Shown& shown);
  Room (*beside)(const Panel& panel, const Room& room) = [](const auto&, const auto&) { return Room{0, 0}; };
  Drawing (*legend)(const Panels& panels, bool has_colours) = [](const auto&, bool) { return Drawing(); };
};

/// Rows and columns as cells, each with a tooltip; the words of both axes, or ticks where these have no room;
/// numbers where they are readable. What is hidden is hatched. More than 1,600 cells are an image.
extern const Kind heatmap;

/// Heatmaps that are one with those before them, of which each has numbers where the others have none.
extern const Kind together;

/// Who looks on the left, at whom on the right, with lines as thick as the share.
extern const Kind arcs;

/// The shares of each row side by side in one bar.
extern const Kind stacks;

/// Each row as one colour: its three numbers are red, green and blue, from 0 to 1.
extern const Kind colours;

/// The same as the colours of the bars that are called as its rows, and no picture.
extern const Kind bar_palette;

/// The numbers of one row as bars: of more than that many shares the 12 largest.
inline constexpr std::size_t most_bars = 16;
extern const Kind bars;

/// Curves with round ticks, each with its name where it ends.
extern const Kind lines;

/// The diagram of the computation: what leads to what, with the shapes of the run.
extern const Kind flow;

/// The kind of that name; null where there is none.
const Kind* kind_named(std::string_view name);

/// The numbers of a matrix in three digits or so; nothing for one that is hidden, or that would be written as
/// 0 and is none.
std::vector<std::string> short_numbers(const Matrix& matrix);

/// Whether numbers may stand in its cells: not in those of a mask, or of a table that is an image.
bool can_have_numbers(const Matrix& matrix);

/// The axis along which the heads lie, where there are several tables; none elsewhere.
std::optional<std::size_t> axis_of_heads(const Event& event);

/// The panels of a tensor, each as `panel` but for what it shows and its place: one for each table, of bars
/// one for each row, of lines one for all. `tables` are those of the event so far, and get what they lack.
/// `head` picks one head of several.
std::vector<Panel> panels_of(const Event& event, std::vector<Matrix>& tables, const Panel& panel,
                             std::optional<std::size_t> head);

/// Gives the panels their marks: each line is `ID: a line below the caption`, `ID[0, 2]: words` of a row, a
/// cell or a point, with `*` for any, or `ID = 0.5: words` of a value. Returns the lines that no panel has a
/// place for.
std::vector<std::string> put_marks(std::vector<Panel>& panels, const std::string& lines);

/// Puts the panels in order, gives each the caption that tells it from the others, and joins those that are
/// one: rows of stacks, tables with the same words of which each has numbers where the others have none,
/// curves of one line each over the same positions. Bars get the colours of a palette with the same names, or
/// of the line that is called as they are, columns those of the parts of a joined table with such names;
/// lines of one name look alike in all panels.
void arrange(std::vector<Panel>& panels);

/// The panels in blocks, in the order that they have, with the look of each. `is_scale_largest`: the scale of
/// shares ends at the largest, and not at 1; where not given, it does so where all are small.
std::vector<Panels> blocks_of(std::vector<Panel>& panels, std::optional<bool> is_scale_largest);

/// What rows, columns, colours and the scale of a block are, in words.
std::string explanation(const Panels& block);

/// Whether blocks beside each other have enough room in such a width.
bool stand_beside(const std::vector<Panels>& blocks, double width);

/// Blocks beside each other, or below one another, each in a grid with what its colours mean below it, and
/// the words that stand below all.
Drawing draw(const std::vector<Panels>& blocks, const Room& room, const Drawing& words);

}  // namespace attn::svg

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "page/curve.hpp"
#include "trace/event.hpp"

/// What people read of a run, as a tree. Text and HTML are renderings of it, worksheets take its tables: none
/// of them computes.
namespace attn::page {

/// One place along an axis of a table.
struct Place {
  std::size_t index = 0;
  std::string label{};  ///< the token, else the index
  std::string name{};   ///< "the#2": the token as sentences name it; empty where the axis has no tokens
};

/// Places along an axis; none stands for what is left out.
using Places = std::vector<std::optional<Place>>;

struct Cell {
  std::size_t offset = 0;  ///< of its element, in row-major order
  double value = 0.0;
  std::string number{};
};

/// A key and what a row gives it.
struct Share {
  Place key{};
  std::string number{};
};

struct Row {
  std::optional<Place> place{};              ///< none of rows that are left out; of no meaning in a vector
  std::vector<std::optional<Cell>> cells{};  ///< one for each column; none of what is left out
  std::vector<Share> strongest{};            ///< of shares: the largest one, several where they tie
  std::vector<Share> largest{};              ///< of shares in several rows: those above 0, the largest first
};

/// Rows and columns of a tensor at fixed places along all axes before.
struct Grid {
  std::string caption{};  ///< "batch 0 · head 1"
  std::size_t first = 0;  ///< offset of its first element
  Places columns{};
  std::vector<Row> rows{};
};

/// The elements of a tensor that a page shows, and how.
struct Table {
  enum class Kind { numbers, shares, mask };
  Kind kind = Kind::numbers;
  std::string row_axis{};  ///< empty of a vector, which is one row
  std::string column_axis{};
  std::vector<std::optional<Grid>> grids{};  ///< none stands for grids that are left out
  double largest = 0.0;                      ///< the size of the largest finite element of the whole tensor
  bool is_elided = false;                    ///< the middle of its long axes is left out
  bool has_hidden = false;                   ///< some share is exactly 0
  bool is_floating = true;

  bool has_rows() const { return !row_axis.empty(); }
  bool are_shares() const { return kind == Kind::shares; }

  /// The axis that is named above the names of the rows.
  const std::string& corner() const { return has_rows() ? row_axis : column_axis; }
};

/// How one entry of a step comes about: "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.55".
struct WorkedEntry {
  std::string name{};        ///< "ffn/output[sat, 2]"
  std::string expression{};  ///< with this run's numbers, or the name of the entry that it is
  std::string result{};      ///< "≈ 0.55"; empty where the expression says it
};

/// A tensor that a step was computed from.
struct Origin {
  std::string id{};
  std::string name{};     ///< "Q [6×4]", without a shape where the page knows none
  bool is_there = false;  ///< on the page
};

/// A formula as text and, where it is known as a formula, as MathML.
struct Formula {
  std::vector<std::string> lines{};
  std::string mathml{};
};

/// A tensor of the run.
struct Step {
  std::string id{}, title{};
  bool is_input = false;
  Formula formula{};
  Shape shape{};
  std::string named_shape{};  ///< "[query 6 × key 6]"; empty of a number
  std::string scalar{};       ///< that number
  std::vector<Origin> origins{};
  std::optional<WorkedEntry> worked{};
  std::optional<Table> table{};    ///< none of a number, and where there is no room for it
  std::optional<Curves> curves{};  ///< where it is to be plotted
  std::string notice{};            ///< what to notice in these numbers
  std::string note{};              ///< what else the lesson says of the step
};

struct Command {
  std::string command{}, remark{};
};

/// What stands below the words of a note.
struct Block {
  enum class Kind {
    formulas,  ///< that stand alone, a line each
    code,
    diagram,   ///< of what leads to what, drawn with the characters for boxes
    commands,  ///< to try, each with what to look for
    layout,    ///< words and numbers that stand in columns, or a picture made of characters: as they stand
  };
  Kind kind = Kind::layout;
  std::vector<std::string> lines{};
  std::vector<Command> commands{};  ///< in the place of lines
};

/// Words for people, and what stands below them.
struct Note {
  std::string id{}, title{};
  std::vector<std::string> paragraphs{};
  std::optional<Block> block{};
};

/// How much of a section a page shows.
enum class Form {
  whole,
  without_numbers,  ///< the formula and one entry worked out
  line,             ///< formula and shape: an earlier lesson taught it
  folded,           ///< nothing but behind a fold: it is no part of what the lesson is about
};

struct Section {
  Form form = Form::whole;
  std::variant<Note, Step> content{};
};

/// A claim, measured on this run.
struct Claim {
  Measurement measurement{};
  std::vector<std::string> formula{};
  std::string note{};
};

/// "3 of 4 claims hold."
std::string verdict_on(const std::vector<Claim>& claims);

struct Page {
  Header header{};
  std::vector<Section> sections{};  ///< in the order of reading
  std::vector<Section> more{};      ///< what is no part of it, in the order of the run
  std::vector<Step> outline{};      ///< id, formula and shape of tensors whose numbers nobody asked for
  std::vector<Claim> claims{}, more_claims{};
  std::optional<Note> next{};  ///< what to try next
};

}  // namespace attn::page

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "attn/text/tokens.hpp"
#include "attn/text/width.hpp"
#include "page/builder.hpp"
#include "page/text/plain.hpp"
#include "page/text/text.hpp"

namespace attn {

namespace {

constexpr int black = 16, white = 231;

/// Blues of the 6×6×6 colour cube whose lightness (CIE L*) falls in even steps.
constexpr std::array<CellColor, 7> ramp = {
    {{195, black}, {153, black}, {111, black}, {69, black}, {27, white}, {20, white}, {18, white}}};

/// Shares such as 1/7 fall on the edge between two colours: rounding noise must not choose between them.
constexpr double noise = 1e-6;

constexpr std::size_t indent = 2;
constexpr std::size_t longest_label = 12;
constexpr std::size_t shortest_label = 6;  // a column is not made narrower at the cost of its label
constexpr std::size_t few_columns = 8;     // so many are never left out
constexpr std::size_t most_blocks = 2;     // of columns that have names
constexpr std::size_t last_columns = 2;    // behind those that are left out

/// Lengths of the fewest blocks of columns, as even as possible, such that each fits, and the last one beside
/// what stands at its right.
std::vector<std::size_t> split_columns(std::size_t columns, std::size_t capacity, std::size_t last_capacity) {
  for (std::size_t count = 1;; ++count) {
    std::vector<std::size_t> blocks(count, columns / count);
    for (std::size_t i = 0; i < columns % count; ++i) ++blocks[i];
    if (count >= columns || (blocks.front() <= capacity && blocks.back() <= last_capacity)) return blocks;
  }
}

/// The label of a place of at most so many columns; "…" for what is left out.
std::string label_of(const std::optional<page::Place>& place, std::size_t width) {
  return place ? shorten(printable(place->label), width) : "…";
}

/// The token as sentences name it, else the index.
std::string name_of(const page::Place& place) {
  return printable(place.name.empty() ? place.label : place.name);
}

/// Measures one table's text, then draws it.
class TableLayout {
 public:
  TableLayout(const std::string& id, const page::Table& table, const PageStyle& style)
      : id_(id), table_(table), style_(style) {
    for (const auto& grid : table_.grids)
      if (grid) measure(*grid);
    if (share_width_ > 0)
      strongest_width_ =
          1 + std::max(display_width("   strongest"), display_width("   →   ") + key_width_ + share_width_);
    choose_widths();
  }

  std::string draw() const {
    std::string text;
    for (const auto& grid : table_.grids) {
      if (!text.empty()) text += '\n';
      const auto caption = grid ? shorten(printable(grid->caption), style_.width - indent) : "…";
      if (!caption.empty())
        text +=
            std::string(indent, ' ') + (style_.color ? ansi::styled(caption, ansi::bold) : caption) + '\n';
      if (grid) text += draw(*grid);
    }
    return text;
  }

  /// A line for each row, in words.
  std::string sentences() const {
    std::string text;
    for (const auto& grid : table_.grids) {
      if (!grid) text += "  ...\n";
      for (const auto& row : grid ? grid->rows : std::vector<page::Row>())
        text +=
            hanging(std::string(indent, ' '),
                    wrap(row.place ? sentence(*grid, row) : "...", style_.width - 2 * indent), 2 * indent);
    }
    return text;
  }

  /// What the signs mean in what was drawn.
  std::vector<std::string> legends(const std::string& drawn) const {
    std::vector<std::string> legends;
    if (table_.kind == page::Table::Kind::mask) legends.emplace_back("1 = may be seen, · = hidden");
    if (table_.has_hidden && drawn.find("  ·") != drawn.npos) legends.emplace_back("· = exactly 0");
    if (leaves_out_padding_)
      legends.emplace_back("– = a row of padding, which nobody reads (--full shows it)");
    if (table_.is_elided || leaves_out_columns()) legends.emplace_back("… = left out, shown with --full");
    return legends;
  }

 private:
  /// Whether the columns in the middle are left out: numbered ones that would go on in a second block below
  /// the first, words that would go on in a third.
  bool leaves_out_columns() const {
    const auto fitting = columns_that_fit(column_width_, 0);
    const auto wanted = column_count_ > few_columns && fitting > last_columns + 1;
    return wanted && !style_.full && !table_.are_shares() &&
           column_count_ > fitting * (has_names_ ? most_blocks : 1);
  }

  void measure(const page::Grid& grid) {
    const auto widen = [](std::size_t& width, const std::string& text) {
      width = std::max(width, display_width(text));
    };
    column_count_ = grid.columns.size();
    for (const auto& column : grid.columns) {
      widen(column_label_width_, label_of(column, longest_label));
      has_names_ = has_names_ || (column && !column->name.empty());
    }
    for (const auto& row : grid.rows) {
      if (!row.place) continue;
      leaves_out_padding_ = leaves_out_padding_ || leaves_out(row);
      if (table_.has_rows()) widen(row_label_width_, label_of(row.place, longest_label));
      for (const auto& cell : row.cells)
        if (cell) widen(number_width_, cell->number);
      if (row.strongest.empty()) continue;
      widen(key_width_, page::name_of_strongest(row, longest_label));
      widen(share_width_, row.strongest.front().number);
    }
  }

  std::size_t columns_that_fit(std::size_t column_width, std::size_t reserved) const {
    const std::size_t taken = indent + row_label_width_ + reserved;
    return taken < style_.width ? (style_.width - taken) / (column_width + 2) : 0;
  }

  /// Takes columns as wide as their labels where all of them then fit side by side, otherwise shortens
  /// labels. Whether all columns fit.
  bool fits_beside(std::size_t row_label_width) {
    row_label_width_ = row_label_width;
    for (const auto label_width : {column_label_width_, std::min(column_label_width_, shortest_label)}) {
      column_width_ = std::max(number_width_, label_width);
      if (columns_that_fit(column_width_, strongest_width_) >= column_count_) return true;
    }
    return false;
  }

  /// The name of the row axis stands above the row labels, unless the table fits only without it.
  void choose_widths() {
    const std::size_t labels = row_label_width_;
    const std::size_t named = std::max(labels, display_width(table_.corner()));
    all_columns_fit_ = fits_beside(named) || fits_beside(labels);
    if (!all_columns_fit_) fits_beside(named);
  }

  /// Whether the row has numbers that come from padding: they look like answers, but nobody asked.
  bool leaves_out(const page::Row& row) const {
    return !style_.full && row.place && row.place->label == padding_token &&
           any_of(row.cells, [](const auto& cell) { return cell && cell->value != 0.0; });
  }

  /// "weights, head 0: cat looks at the 0.53, the#2 0.47", "Q: cat has 0.1000, 0.2000".
  std::string sentence(const page::Grid& grid, const page::Row& row) const {
    const bool is_mask = table_.kind == page::Table::Kind::mask;
    auto text = id_ + (grid.caption.empty() ? "" : ", " + printable(grid.caption)) + ":";
    if (leaves_out(row)) return text + fmt::format(" {} is padding, which nobody reads", row.place->label);
    if (table_.has_rows())
      text +=
          fmt::format(" {}{} {}", row.place->name.empty() ? table_.row_axis + " " : "", name_of(*row.place),
                      table_.are_shares() ? "looks at"
                      : is_mask           ? "sees"
                                          : "has");
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto& cell = row.cells[i];
      const auto token = cell ? printable(grid.columns[i]->name) : "";
      text += (i == 0 ? " " : ", ") + token + (token.empty() ? "" : " ") +
              (!cell     ? "..."
               : is_mask ? (cell->value != 0.0 ? "yes" : "no")
                         : cell->number);
    }
    return text;
  }

  /// "cat 0.5312, the#2 0.2020, …": as many as fit.
  std::string largest_shares(const page::Row& row) const {
    if (leaves_out(row)) return "–";
    const auto room = style_.width - std::min(style_.width, indent + row_label_width_ + 4);
    std::string text;
    for (const auto& [key, number] : row.largest) {
      const auto share = fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(key), number);
      if (!text.empty() && display_width(text + share) > room) return text + " …";
      text += share;
    }
    return text;
  }

  std::string draw(const page::Grid& grid) const {
    std::string text;
    if (table_.are_shares() && table_.has_rows() && (table_.is_elided || !all_columns_fit_) && !style_.full &&
        !style_.all) {
      text = line_of(table_.row_axis, " the largest shares (--full shows all)");
      for (const auto& row : grid.rows)
        text += line_of(row.place ? shorten(name_of(*row.place), row_label_width_) : "…",
                        ' ' + largest_shares(row));
      return text;
    }
    const auto all = blocks();
    for (const auto& block : all) {
      if (!text.empty()) text += '\n';
      text += draw(grid, block, &block == &all.back());
    }
    return text;
  }

  /// Columns that stand side by side.
  std::vector<page::Indices> blocks() const {
    const auto fitting = columns_that_fit(column_width_, 0);
    if (leaves_out_columns()) return {page::ends_of(column_count_, fitting - 1 - last_columns, last_columns)};
    std::vector<page::Indices> blocks;
    std::size_t first = 0;
    for (const auto length :
         split_columns(column_count_, fitting, columns_that_fit(column_width_, strongest_width_))) {
      blocks.emplace_back();
      for (std::size_t i = 0; i < length; ++i) blocks.back().emplace_back(first++);
    }
    return blocks;
  }

  std::string draw(const page::Grid& grid, const page::Indices& block, bool is_last) const {
    const bool corner_fits = display_width(table_.corner()) <= row_label_width_;
    const bool has_strongest = is_last && strongest_width_ > 0;
    std::string line;
    for (const auto& i : block) line += in_column(i ? label_of(grid.columns[*i], column_width_) : "…");
    auto text = line_of(corner_fits ? table_.corner() : "", line + (has_strongest ? "  strongest" : ""));
    for (const auto& row : grid.rows) {
      line.clear();
      for (const auto& i : block)
        line += !i || !row.cells[*i] ? in_column("…")
                : leaves_out(row)    ? in_column("–")
                                     : draw_cell(*row.cells[*i]);
      if (has_strongest && !row.strongest.empty() && !leaves_out(row))
        line += fmt::format("  → {}  {}", pad_right(page::name_of_strongest(row, longest_label), key_width_),
                            row.strongest.front().number);
      text += line_of(table_.has_rows() ? label_of(row.place, longest_label) : "", line);
    }
    return text;
  }

  std::string line_of(const std::string& label, const std::string& rest) const {
    const auto line = std::string(indent, ' ') + pad_right(label, row_label_width_) + ' ' + rest;
    return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }

  std::string in_column(const std::string& text) const { return ' ' + pad_left(text, column_width_) + ' '; }

  std::string draw_cell(const page::Cell& cell) const {
    const auto text = in_column(table_.are_shares() && cell.value == 0.0 ? "·" : cell.number);
    const auto color = style_.color && table_.are_shares() ? cell_color(cell.value) : std::nullopt;
    if (!color) return text;
    return ansi::styled(text, fmt::format("48;5;{};38;5;{}", color->background, color->foreground));
  }

  const std::string& id_;
  const page::Table& table_;
  PageStyle style_;
  bool all_columns_fit_ = true;
  bool has_names_ = false;  ///< the columns are words, or have other names
  bool leaves_out_padding_ = false;
  std::size_t column_count_ = 0;
  std::size_t row_label_width_ = 0;
  std::size_t column_label_width_ = 0;
  std::size_t number_width_ = 0;
  std::size_t column_width_ = 0;
  std::size_t key_width_ = 0;        ///< of the names of the strongest keys
  std::size_t share_width_ = 0;      ///< of their shares
  std::size_t strongest_width_ = 0;  ///< of the column of both, 0 where no row has one
};

}  // namespace

std::optional<CellColor> cell_color(double share) {
  if (!(share > 0.0)) return std::nullopt;
  const double steps = std::ceil(std::min(share, 1.0) * static_cast<double>(ramp.size()) - noise);
  return ramp[static_cast<std::size_t>(std::max(steps, 1.0)) - 1];
}

PrintedTable format_table(const std::string& id, const page::Table& table, const PageStyle& style) {
  const TableLayout layout(id, table, style);
  if (style.plain) return {layout.sentences()};
  auto lines = layout.draw();
  auto legends = layout.legends(lines);
  return {std::move(lines), std::move(legends)};
}

}  // namespace attn

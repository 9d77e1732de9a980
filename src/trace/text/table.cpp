#include "trace/text/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "attn/text/width.hpp"
#include "trace/entry.hpp"
#include "trace/text/ansi.hpp"
#include "trace/text/number_format.hpp"

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
constexpr std::size_t elided_above = 1000;
constexpr std::size_t edge = 3;

/// What is shown along an axis: indices, with nothing for what is left out between them.
using Positions = std::vector<std::optional<std::size_t>>;

Positions positions_along(std::size_t length, bool elided) {
  Positions positions;
  for (std::size_t i = 0; i < length; ++i) {
    if (elided && length > 2 * edge && i == edge) {
      positions.emplace_back();
      i = length - edge;
    }
    positions.emplace_back(i);
  }
  return positions;
}

/// One table of a tensor: the last two axes (or the last one) at fixed indices of those before.
struct Grid {
  std::size_t index = 0;  ///< among all grids, in C order
  std::size_t sample = 0;
  std::string caption{};
  bool left_out = false;  ///< stands for the grids that are not shown
};

/// Lengths of `count` blocks as even as possible.
std::vector<std::size_t> even_blocks(std::size_t columns, std::size_t count) {
  std::vector<std::size_t> blocks(count, columns / count);
  for (std::size_t i = 0; i < columns % count; ++i) ++blocks[i];
  return blocks;
}

/// The fewest blocks of columns such that each fits, and the last one beside what stands at its right.
std::vector<std::size_t> split_columns(std::size_t columns, std::size_t capacity, std::size_t last_capacity) {
  for (std::size_t count = 1; count < columns; ++count) {
    const auto blocks = even_blocks(columns, count);
    if (blocks.front() <= capacity && blocks.back() <= last_capacity) return blocks;
  }
  return even_blocks(columns, std::max<std::size_t>(columns, 1));
}

std::string trimmed_line(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

/// Measures one tensor's text, then draws it.
class TableLayout {
 public:
  TableLayout(const Event& event, const TextStyle& style);
  std::string draw() const;

  /// A line for each row, in words.
  std::string sentences() const;

 private:
  struct Block {
    std::size_t first = 0;
    std::size_t last = 0;
    bool is_last = false;
  };

  std::size_t rank() const { return tensor_.shape.size(); }
  std::size_t row_length() const { return tensor_.shape.back(); }
  bool has_rows() const { return leading_axes_ + 2 == rank(); }

  std::vector<Grid> grids() const;
  Grid descend(const Grid& grid, std::size_t axis, std::size_t position) const;
  std::string label(std::size_t axis, std::optional<std::size_t> position, std::size_t sample,
                    std::size_t width) const;
  std::size_t row_offset(const Grid& grid, std::size_t row) const;
  std::string name_of_strongest(const std::vector<std::size_t>& keys, std::size_t sample) const;
  std::string strongest(const Grid& grid, std::size_t row) const;
  std::string number(std::size_t offset) const;
  std::string sentence(const Grid& grid, std::size_t row) const;

  void measure();
  void measure(const Grid& grid);
  std::size_t columns_that_fit(std::size_t column_width, std::size_t reserved) const;
  bool fits_beside(std::size_t row_label_width);
  void choose_widths();

  std::string token_name(const Grid& grid, std::size_t axis, std::size_t position) const;
  std::string largest_shares(const Grid& grid, std::size_t row) const;

  std::string draw(const Grid& grid) const;
  std::string draw_largest_shares(const Grid& grid) const;
  std::string draw(const Grid& grid, const Block& block) const;
  std::string draw_head(const Grid& grid, const Block& block) const;
  std::string draw_row(const Grid& grid, const Block& block, std::optional<std::size_t> row) const;
  std::string draw_cell(std::size_t offset) const;
  std::string start_of_line(const std::string& label) const;

  const Event& event_;
  const TensorView& tensor_;
  TextStyle style_;
  NumberFormat number_;
  bool elided_;
  std::size_t leading_axes_ = 0;  ///< axes whose every entry has a grid of its own
  Positions rows_, columns_;
  std::vector<Grid> grids_;
  bool all_columns_fit_ = true;

  std::size_t row_label_width_ = 0;
  std::size_t column_label_width_ = 0;
  std::size_t number_width_ = 0;
  std::size_t column_width_ = 0;
  std::size_t key_width_ = 0;        ///< of the names of the strongest keys
  std::size_t share_width_ = 0;      ///< of their shares
  std::size_t strongest_width_ = 0;  ///< of the column of both, 0 where no row has one
};

TableLayout::TableLayout(const Event& event, const TextStyle& style)
    : event_(event),
      tensor_(*event.tensor),
      style_(style),
      number_(tensor_, style.precision),
      elided_(is_elided(tensor_, style)) {
  const bool rows_have_own_columns = rank() == 2 && event.axes[0] == "batch" && event.labels[1].per_sample();
  leading_axes_ = rank() - (rank() == 1 || rows_have_own_columns ? 1 : 2);
  rows_ = has_rows() ? positions_along(tensor_.shape[rank() - 2], elided_) : Positions{0};
  columns_ = positions_along(row_length(), elided_);
  grids_ = grids();
  measure();
}

std::vector<Grid> TableLayout::grids() const {
  std::vector<Grid> grids = {{}};
  for (std::size_t axis = 0; axis < leading_axes_; ++axis) {
    std::vector<Grid> next;
    for (const auto& grid : grids) {
      if (grid.left_out) {
        next.push_back(grid);
        continue;
      }
      for (const auto& position : positions_along(tensor_.shape[axis], elided_))
        next.push_back(position ? descend(grid, axis, *position) : Grid{.caption = "…", .left_out = true});
    }
    grids = std::move(next);
  }
  return grids;
}

Grid TableLayout::descend(const Grid& grid, std::size_t axis, std::size_t position) const {
  const std::size_t sample = event_.axes[axis] == "batch" ? position : grid.sample;
  const auto name = fmt::format("{} {}", event_.axes[axis], label(axis, position, sample, style_.width));
  return {.index = grid.index * tensor_.shape[axis] + position,
          .sample = sample,
          .caption = grid.caption.empty() ? name : grid.caption + " · " + name};
}

/// The label of an entry of an axis, or else its index; "…" for what is left out.
std::string TableLayout::label(std::size_t axis, std::optional<std::size_t> position, std::size_t sample,
                               std::size_t width) const {
  if (!position) return "…";
  const auto& labels = event_.labels[axis];
  return labels.empty() ? fmt::format("{}", *position)
                        : shorten(printable(labels.of(sample)[*position]), width);
}

std::size_t TableLayout::row_offset(const Grid& grid, std::size_t row) const {
  const std::size_t rows = has_rows() ? tensor_.shape[rank() - 2] : 1;
  return (grid.index * rows + row) * row_length();
}

std::string TableLayout::name_of_strongest(const std::vector<std::size_t>& keys, std::size_t sample) const {
  std::vector<std::string> names;
  for (const auto key : keys) names.push_back(label(rank() - 1, key, sample, longest_label));
  return name_of_tied(names);
}

std::string TableLayout::strongest(const Grid& grid, std::size_t row) const {
  const std::size_t offset = row_offset(grid, row);
  const auto keys = strongest_keys(tensor_, offset);
  if (keys.empty()) return "";
  return fmt::format("  → {}  {}", pad_right(name_of_strongest(keys, grid.sample), key_width_),
                     number_(offset + keys.front()));
}

std::string TableLayout::number(std::size_t offset) const {
  return event_.distribution && tensor_.at(offset) == 0.0 ? "·" : number_(offset);
}

void TableLayout::measure() {
  for (const auto& grid : grids_)
    if (!grid.left_out) measure(grid);
  if (share_width_ > 0)
    strongest_width_ =
        1 + std::max(display_width("   strongest"), display_width("   →   ") + key_width_ + share_width_);
  choose_widths();
}

void TableLayout::measure(const Grid& grid) {
  const auto widen = [](std::size_t& width, const std::string& text) {
    width = std::max(width, display_width(text));
  };
  for (const auto& column : columns_)
    widen(column_label_width_, label(rank() - 1, column, grid.sample, longest_label));
  for (const auto& row : rows_) {
    if (!row) continue;
    if (has_rows()) widen(row_label_width_, label(rank() - 2, row, grid.sample, longest_label));
    const std::size_t offset = row_offset(grid, *row);
    for (const auto& column : columns_)
      if (column) widen(number_width_, number_(offset + *column));
    const auto keys = event_.distribution ? strongest_keys(tensor_, offset) : std::vector<std::size_t>();
    if (keys.empty()) continue;
    widen(key_width_, name_of_strongest(keys, grid.sample));
    widen(share_width_, number_(offset + keys.front()));
  }
}

std::size_t TableLayout::columns_that_fit(std::size_t column_width, std::size_t reserved) const {
  const std::size_t taken = indent + row_label_width_ + reserved;
  return taken < style_.width ? (style_.width - taken) / (column_width + 2) : 0;
}

/// Takes columns as wide as their labels where all of them then fit side by side, otherwise shortens labels.
/// Whether all columns fit.
bool TableLayout::fits_beside(std::size_t row_label_width) {
  row_label_width_ = row_label_width;
  column_width_ = std::max(number_width_, column_label_width_);
  if (columns_that_fit(column_width_, strongest_width_) >= columns_.size()) return true;
  column_width_ = std::max(number_width_, std::min(column_label_width_, shortest_label));
  return columns_that_fit(column_width_, strongest_width_) >= columns_.size();
}

/// The name of the row axis stands above the row labels, unless the table fits only without it.
void TableLayout::choose_widths() {
  const std::size_t labels = row_label_width_;
  const std::size_t named =
      std::max(labels, display_width(event_.axes[has_rows() ? rank() - 2 : rank() - 1]));
  all_columns_fit_ = fits_beside(named) || fits_beside(labels);
  if (!all_columns_fit_) fits_beside(named);
}

std::string TableLayout::draw() const {
  std::string text;
  for (const auto& grid : grids_) {
    if (!text.empty()) text += '\n';
    const auto caption = shorten(grid.caption, style_.width - indent);
    if (!caption.empty())
      text += std::string(indent, ' ') + (style_.color ? ansi::styled(caption, ansi::bold) : caption) + '\n';
    if (!grid.left_out) text += draw(grid);
  }
  return text;
}

std::string TableLayout::sentences() const {
  std::string text;
  for (const auto& grid : grids_) {
    if (grid.left_out) text += "  ...\n";
    for (const auto& row : grid.left_out ? Positions() : rows_) {
      auto margin = std::string(indent, ' ');
      for (const auto& line : wrap(row ? sentence(grid, *row) : "...", style_.width - 2 * indent)) {
        text += margin + line + '\n';
        margin = std::string(2 * indent, ' ');
      }
    }
  }
  return text;
}

/// "cat", or "the#2" where it is not the first "the"; nothing where the axis has no names.
std::string TableLayout::token_name(const Grid& grid, std::size_t axis, std::size_t position) const {
  const auto& labels = event_.labels[axis];
  if (labels.empty()) return "";
  const auto& tokens = labels.of(grid.sample);
  const bool is_first = std::find(tokens.begin(), tokens.end(), tokens[position]) ==
                        tokens.begin() + static_cast<std::ptrdiff_t>(position);
  return printable(is_first ? tokens[position] : numbered_token(tokens, position));
}

/// "weights, head 0: cat looks at the 0.53, the#2 0.47", "Q: cat has 0.1000, 0.2000".
std::string TableLayout::sentence(const Grid& grid, std::size_t row) const {
  auto text = event_.id + (grid.caption.empty() ? "" : ", " + grid.caption) + ":";
  if (has_rows()) {
    const auto token = token_name(grid, rank() - 2, row);
    text += fmt::format(" {} {}", token.empty() ? fmt::format("{} {}", event_.axes[rank() - 2], row) : token,
                        event_.distribution               ? "looks at"
                        : tensor_.dtype == Dtype::boolean ? "sees"
                                                          : "has");
  }
  std::string separator = " ";
  for (const auto& column : columns_) {
    const auto token = column ? token_name(grid, rank() - 1, *column) : "";
    const auto offset = row_offset(grid, row) + column.value_or(0);
    text += separator + token + (token.empty() ? "" : " ") +
            (!column                           ? "..."
             : tensor_.dtype == Dtype::boolean ? (tensor_.at(offset) != 0.0 ? "yes" : "no")
                                               : number_(offset));
    separator = ", ";
  }
  return text;
}

/// "cat 0.5312, the#2 0.2020, …": as many as fit, the largest first. Shares that print alike stand in the
/// order of the keys.
std::string TableLayout::largest_shares(const Grid& grid, std::size_t row) const {
  const auto offset = row_offset(grid, row);
  const auto printed = [&](std::size_t key) { return std::stod(number_(offset + key)); };
  std::vector<std::size_t> keys;
  for (std::size_t i = 0; i < row_length(); ++i)
    if (printed(i) > 0.0) keys.push_back(i);
  std::stable_sort(keys.begin(), keys.end(), [&](auto a, auto b) { return printed(a) > printed(b); });
  const auto room = style_.width - std::min(style_.width, indent + row_label_width_ + 4);
  std::string text;
  for (const auto key : keys) {
    const auto name = token_name(grid, rank() - 1, key);
    const auto share = fmt::format("{}{} {}", text.empty() ? "" : ", ",
                                   name.empty() ? std::to_string(key) : name, number_(offset + key));
    if (!text.empty() && display_width(text + share) > room) return text + " …";
    text += share;
  }
  return text;
}

std::string TableLayout::draw_largest_shares(const Grid& grid) const {
  auto rows = rows_;
  const auto at = entry_to_work_out(event_);
  if (has_rows() && at && elided_ && (*at)[rank() - 2] >= edge &&
      (*at)[rank() - 2] + edge < tensor_.shape[rank() - 2])
    rows.insert(rows.begin() + edge + 1, {(*at)[rank() - 2], std::nullopt});
  auto text = trimmed_line(start_of_line(event_.axes[rank() - 2]) + " the largest shares (--full shows all)");
  for (const auto& row : rows) {
    const auto name = row ? token_name(grid, rank() - 2, *row) : "…";
    const auto label = row && name.empty() ? std::to_string(*row) : shorten(name, row_label_width_);
    text += trimmed_line(start_of_line(label) + ' ' + (row ? largest_shares(grid, *row) : ""));
  }
  return text;
}

std::string TableLayout::draw(const Grid& grid) const {
  if (event_.distribution && has_rows() && (elided_ || !all_columns_fit_) && !style_.full && !style_.all)
    return draw_largest_shares(grid);
  const auto blocks = split_columns(columns_.size(), columns_that_fit(column_width_, 0),
                                    columns_that_fit(column_width_, strongest_width_));
  std::string text;
  Block block;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    block = {block.last, block.last + blocks[i], i + 1 == blocks.size()};
    if (i > 0) text += '\n';
    text += draw(grid, block);
  }
  return text;
}

std::string TableLayout::draw(const Grid& grid, const Block& block) const {
  std::string text = draw_head(grid, block);
  for (const auto& row : rows_) text += trimmed_line(draw_row(grid, block, row));
  return text;
}

std::string TableLayout::start_of_line(const std::string& label) const {
  return std::string(indent, ' ') + pad_right(label, row_label_width_) + ' ';
}

std::string TableLayout::draw_head(const Grid& grid, const Block& block) const {
  const std::size_t columns_axis = rank() - 1;
  const auto& corner = event_.axes[has_rows() ? rank() - 2 : columns_axis];
  const bool corner_fits = display_width(corner) <= row_label_width_;
  std::string line = start_of_line(corner_fits ? corner : "");
  for (std::size_t i = block.first; i < block.last; ++i)
    line += ' ' + pad_left(label(columns_axis, columns_[i], grid.sample, column_width_), column_width_) + ' ';
  if (block.is_last && strongest_width_ > 0) line += "  strongest";
  return trimmed_line(line);
}

std::string TableLayout::draw_row(const Grid& grid, const Block& block,
                                  std::optional<std::size_t> row) const {
  std::string line = start_of_line(has_rows() ? label(rank() - 2, row, grid.sample, longest_label) : "");
  for (std::size_t i = block.first; i < block.last; ++i)
    line += row && columns_[i] ? draw_cell(row_offset(grid, *row) + *columns_[i])
                               : ' ' + pad_left("…", column_width_) + ' ';
  if (row && block.is_last && strongest_width_ > 0) line += strongest(grid, *row);
  return line;
}

std::string TableLayout::draw_cell(std::size_t offset) const {
  const auto cell = ' ' + pad_left(number(offset), column_width_) + ' ';
  if (!style_.color || !event_.distribution) return cell;
  const auto color = cell_color(tensor_.at(offset));
  if (!color) return cell;
  return ansi::styled(cell, fmt::format("48;5;{};38;5;{}", color->background, color->foreground));
}

/// Bytes of the control character, line separator or mark of direction that a text begins with; 0 for others.
std::size_t control_length(std::string_view text) {
  const std::pair<std::string_view, std::string_view> ranges[] = {{{"\0", 1}, "\x1F"},
                                                                  {"\x7F", "\x7F"},
                                                                  {"\u0080", "\u009F"},
                                                                  {"\u2028", "\u202E"},
                                                                  {"\u2066", "\u2069"}};
  for (const auto& [first, last] : ranges) {
    const auto start = text.substr(0, first.size());
    if (start.size() == first.size() && start >= first && start <= last) return first.size();
  }
  return 0;
}

}  // namespace

std::optional<CellColor> cell_color(double share) {
  if (!(share > 0.0)) return std::nullopt;
  const double steps = std::ceil(std::min(share, 1.0) * static_cast<double>(ramp.size()) - noise);
  return ramp[static_cast<std::size_t>(std::max(steps, 1.0)) - 1];
}

bool is_elided(const TensorView& tensor, const TextStyle& style) {
  const auto is_long = [](std::size_t length) { return length > 2 * edge; };
  return !style.full && element_count(tensor.shape) > elided_above &&
         std::any_of(tensor.shape.begin(), tensor.shape.end(), is_long);
}

std::string format_scalar(const TensorView& tensor, const TextStyle& style) {
  if (tensor.dtype == Dtype::boolean) return tensor.at(0) != 0.0 ? "true" : "false";
  return NumberFormat(tensor, style.precision)(0);
}

std::string format_table(const Event& event, const TextStyle& style) {
  const TableLayout layout(event, style);
  return style.plain ? layout.sentences() : layout.draw();
}

std::vector<std::size_t> strongest_keys(const TensorView& tensor, std::size_t offset) {
  double largest = 0.0;
  const std::size_t length = tensor.shape.back();
  for (std::size_t i = 0; i < length; ++i) largest = std::max(largest, tensor.at(offset + i));
  std::vector<std::size_t> keys;
  if (!(largest > 0.0)) return keys;
  const double tie = largest * (1.0 - rounding_of(tensor.dtype));
  for (std::size_t i = 0; i < length; ++i)
    if (tensor.at(offset + i) >= tie) keys.push_back(i);
  return keys;
}

std::string name_of_tied(const std::vector<std::string>& names) {
  const auto& first = names.front();
  if (names.size() == 1) return first;
  const bool are_equal =
      std::all_of(names.begin(), names.end(), [&](const auto& name) { return name == first; });
  return are_equal ? fmt::format("{} × {}", names.size(), first) : fmt::format("{} tied", names.size());
}

bool has_hidden_keys(const Event& event) {
  if (!event.distribution) return false;
  for (std::size_t i = 0; i < element_count(event.tensor->shape); ++i)
    if (event.tensor->at(i) == 0.0) return true;
  return false;
}

std::string printable(std::string_view text) {
  const auto is_visible_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  std::string result;
  while (!text.empty()) {
    const std::size_t control = is_visible_ascii(text.front()) ? 0 : control_length(text);
    if (control == 0) {
      result += text.front();
    } else {
      const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x20;
      result += is_ascii ? std::string("\xE2\x90") + static_cast<char>(0x80 + text.front()) : "�";
    }
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return result;
}

}  // namespace attn

#include "page/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "page/number_format.hpp"
#include "trace/entry.hpp"

namespace attn::page {

namespace {

constexpr std::size_t edge = 3;          // places at each end of an axis that is elided
constexpr std::size_t most_shares = 40;  // of a row that is elided

using Indices = std::vector<std::optional<std::size_t>>;

bool is_long(std::size_t length) {
  return length > 2 * edge;
}

Indices indices_along(std::size_t length, bool is_elided) {
  Indices indices;
  for (std::size_t i = 0; i < length; ++i) {
    if (is_elided && is_long(length) && i == edge) {
      indices.emplace_back();
      i = length - edge;
    }
    indices.emplace_back(i);
  }
  return indices;
}

/// Makes the table of one tensor.
class TableMaker {
 public:
  TableMaker(const Event& event, int precision, std::size_t most_cells)
      : event_(event), tensor_(*event.tensor), number_(tensor_, precision) {
    const auto rank = tensor_.shape.size();
    const bool rows_have_own_columns = rank == 2 && event.axes[0] == "batch" && event.labels[1].per_sample();
    grid_axes_ = rank - (rank == 1 || rows_have_own_columns ? 1 : 2);
    has_rows_ = grid_axes_ + 2 == rank;
    table_.kind = event.distribution                ? Table::Kind::shares
                  : tensor_.dtype == Dtype::boolean ? Table::Kind::mask
                                                    : Table::Kind::numbers;
    table_.column_axis = event.axes.back();
    if (has_rows_) table_.row_axis = event.axes[rank - 2];
    table_.is_elided = element_count(tensor_.shape) > most_cells &&
                       std::any_of(tensor_.shape.begin(), tensor_.shape.end(), is_long);
    table_.is_floating = is_floating(tensor_.dtype);
    table_.has_hidden = has_hidden_keys(event);
    for (std::size_t i = 0; i < element_count(tensor_.shape); ++i)
      if (const double element = tensor_.at(i); std::isfinite(element))
        table_.largest = std::max(table_.largest, std::abs(element));
  }

  Table make() {
    add_grids(0, {}, 0, 0);
    return std::move(table_);
  }

 private:
  std::size_t row_length() const { return tensor_.shape.back(); }
  std::size_t row_count() const { return has_rows_ ? tensor_.shape[tensor_.shape.size() - 2] : 1; }

  /// A grid for each entry of the axes from `axis` on; `index` counts the grids, `sample` is the batch's.
  void add_grids(std::size_t axis, const std::string& caption, std::size_t index, std::size_t sample) {
    if (axis == grid_axes_) return table_.grids.emplace_back(grid(caption, index, sample)), void();
    for (const auto& i : indices_along(tensor_.shape[axis], table_.is_elided)) {
      if (!i) {
        table_.grids.emplace_back();
        continue;
      }
      const auto of = event_.axes[axis] == "batch" ? *i : sample;
      const auto name = fmt::format("{} {}", event_.axes[axis], place(axis, *i, of).label);
      add_grids(axis + 1, caption.empty() ? name : caption + " · " + name, index * tensor_.shape[axis] + *i,
                of);
    }
  }

  Place place(std::size_t axis, std::size_t index, std::size_t sample) const {
    const auto& labels = event_.labels[axis];
    if (labels.empty()) return {.index = index, .label = fmt::format("{}", index)};
    const auto& tokens = labels.of(sample);
    const bool is_first = std::find(tokens.begin(), tokens.end(), tokens[index]) ==
                          tokens.begin() + static_cast<std::ptrdiff_t>(index);
    return {.index = index,
            .label = tokens[index],
            .name = is_first ? tokens[index] : numbered_token(tokens, index)};
  }

  Grid grid(const std::string& caption, std::size_t index, std::size_t sample) const {
    Grid grid{.caption = caption, .first = index * row_count() * row_length()};
    for (const auto& i : indices_along(row_length(), table_.is_elided))
      grid.columns.push_back(i ? std::optional(place(tensor_.shape.size() - 1, *i, sample)) : std::nullopt);
    for (const auto& i : rows()) grid.rows.push_back(i ? row(grid, *i, sample) : Row{});
    return grid;
  }

  /// Those of shares that are elided have the row that is worked out, too.
  Indices rows() const {
    auto rows = indices_along(row_count(), table_.is_elided);
    const auto at =
        has_rows_ && event_.distribution && table_.is_elided ? entry_to_work_out(event_) : std::nullopt;
    if (!at) return rows;
    const auto worked = (*at)[tensor_.shape.size() - 2];
    if (worked >= edge && worked + edge < row_count())
      rows.insert(rows.begin() + edge + 1, {worked, std::nullopt});
    return rows;
  }

  Row row(const Grid& grid, std::size_t index, std::size_t sample) const {
    const auto begin = grid.first + index * row_length();
    Row row{.place = has_rows_ ? place(tensor_.shape.size() - 2, index, sample) : Place{}};
    for (const auto& column : grid.columns)
      if (column) row.cells.push_back(cell(begin + column->index));
    if (!event_.distribution) return row;
    for (const auto key : strongest_keys(tensor_, begin)) row.strongest.push_back(share(begin, key, sample));
    if (has_rows_ && table_.is_elided) row.largest = largest(begin, sample);
    return row;
  }

  Share share(std::size_t begin, std::size_t key, std::size_t sample) const {
    return {place(tensor_.shape.size() - 1, key, sample), number_(begin + key)};
  }

  /// Those above 0 as they are printed, as many as a line may have; equal ones in the order of the keys.
  std::vector<Share> largest(std::size_t begin, std::size_t sample) const {
    std::vector<std::pair<double, std::size_t>> printed;
    for (std::size_t key = 0; key < row_length(); ++key)
      if (tensor_.at(begin + key) > 0.0)
        if (const double share = std::stod(number_(begin + key)); share > 0.0)
          printed.emplace_back(-share, key);
    std::sort(printed.begin(), printed.end());
    printed.resize(std::min(printed.size(), most_shares));
    std::vector<Share> shares;
    for (const auto& [below_0, key] : printed) shares.push_back(share(begin, key, sample));
    return shares;
  }

  Cell cell(std::size_t offset) const { return {offset, tensor_.at(offset), number_(offset)}; }

  const Event& event_;
  const TensorView& tensor_;
  NumberFormat number_;
  std::size_t grid_axes_ = 0;  ///< axes whose every entry has a grid of its own
  bool has_rows_ = false;
  Table table_;
};

}  // namespace

Table table_of(const Event& event, int precision, std::size_t most_cells) {
  return TableMaker(event, precision, most_cells).make();
}

std::vector<std::size_t> offsets_of(const Table& table) {
  std::vector<std::size_t> offsets;
  for (const auto& grid : table.grids)
    if (grid)
      for (const auto& row : grid->rows)
        for (const auto& cell : row.cells) offsets.push_back(cell.offset);
  return offsets;
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

}  // namespace attn::page

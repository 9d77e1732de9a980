#include "page/svg/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "page/svg/grid.hpp"

namespace attn::svg {

namespace {

constexpr double smallest_of_usual_scale = 0.5;  // where few rows have larger shares, the scale ends there
constexpr double larger_than_usual = 4.0;        // so many times, a number is not on the scale
constexpr double rows_on_scale = 0.7;            // of all
constexpr std::size_t many_times = 8;            // as many columns as rows: a strip
constexpr double smallest_of_colours = 0.03;     // of the scale, that is told from 0

const Matrix* matrix_in(const Figure* figure) {
  return std::get_if<Matrix>(&figure->panel.content);
}

/// Whether the colours of one scale show both.
bool are_of_one_size(const Matrix& one, const Matrix& other) {
  const auto [smaller, larger] = std::minmax({one.largest(), other.largest()});
  return smaller == 0.0 || smaller >= smallest_of_colours * larger;
}

/// Shares are compared with each other, numbers with those that have the same columns, queries with keys.
bool belong_together(const Figure& one, const Figure& other) {
  const auto *a = matrix_in(&one), *b = matrix_in(&other);
  if (one.kind != other.kind || (a == nullptr) != (b == nullptr) || other.begins_column) return false;
  if (a == nullptr) return true;
  return a->kind == b->kind &&
         (a->kind == Matrix::Kind::shares || (a->columns.name == b->columns.name && are_of_one_size(*a, *b)));
}

/// Of each row the largest number, in size.
void add_largest_of_rows(const Matrix& matrix, std::vector<double>& largest) {
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (i % matrix.columns.size() == 0) largest.push_back(0.0);
    if (std::isfinite(matrix.values[i]))
      largest.back() = std::max(largest.back(), std::abs(matrix.values[i]));
  }
}

void settle_scale(Block& block, std::optional<bool> is_scale_largest) {
  auto& look = block.look;
  look.largest = 0.0;
  bool are_shares = false;
  std::vector<double> largest;
  for (const auto* figure : block.figures)
    if (const auto* matrix = matrix_in(figure)) {
      look.largest = std::max(look.largest, matrix->largest());
      look.has_negative = look.has_negative || matrix->has_negative();
      are_shares = matrix->kind != Matrix::Kind::numbers;
      add_largest_of_rows(*matrix, largest);
    }
  double end = look.largest;
  if (is_scale_largest != true && !largest.empty()) {
    std::sort(largest.begin(), largest.end());
    const auto rank =
        static_cast<std::size_t>(std::ceil(rows_on_scale * static_cast<double>(largest.size())));
    const double usual = largest[std::min(largest.size() - 1, rank)];
    if (are_shares || (usual > 0.0 && look.largest > larger_than_usual * usual)) end = usual;
  }
  const bool ends_at_1 = are_shares && end >= smallest_of_usual_scale && is_scale_largest != true;
  look.scale = (are_shares && is_scale_largest == false) || ends_at_1 || end == 0.0 ? 1.0 : round_up(end);
}

/// Whether each row of the panels sums to 1, which one that overflowed or is all hidden does not.
bool rows_sum_to_1(const Block& block) {
  for (const auto* figure : block.figures) {
    const auto& values = matrix_in(figure)->values;
    const auto& columns = matrix_in(figure)->columns;
    for (std::size_t begin = 0; begin < values.size(); begin += columns.size()) {
      double sum = 0.0;
      for (std::size_t i = begin; i < begin + columns.size(); ++i) sum += values[i];
      if (!(std::abs(sum - 1.0) < 0.01)) return false;
    }
  }
  return true;
}

Drawing legend_of(const Block& block, bool has_colours) {
  const auto* first = matrix_in(block.figures[0]);
  if (first == nullptr) return {};
  Needs needs{.colours = has_colours};
  for (const auto* figure : block.figures)
    for (std::size_t i = 0; i < matrix_in(figure)->values.size(); ++i) {
      needs.hidden = needs.hidden || matrix_in(figure)->hidden[i];
      needs.nan = needs.nan || std::isnan(matrix_in(figure)->values[i]);
    }
  return legend(block.kind(), *first, block.look, needs);
}

Panels panels_of(const Block& block) {
  Panels panels;
  for (const auto* figure : block.figures) panels.push_back(&figure->panel);
  return panels;
}

/// Three blocks or more of tables with the same words: one, in which each table has a scale of its own.
void join_like_tables(std::vector<Block>& blocks) {
  const auto* first = matrix_in(blocks[0].figures[0]);
  const bool are_like = std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
    return &block.kind() == &heatmap && matrix_in(block.figures[0])->rows == first->rows &&
           matrix_in(block.figures[0])->columns == first->columns;
  });
  if (blocks.size() < 3 || !are_like) return;
  for (std::size_t i = 1; i < blocks.size(); ++i)
    blocks[0].figures.insert(blocks[0].figures.end(), blocks[i].figures.begin(), blocks[i].figures.end());
  blocks.resize(1);
  blocks[0].look.has_own_scales = true;
}

}  // namespace

std::vector<Block> blocks_of(const std::vector<Figure>& figures, std::optional<bool> is_scale_largest) {
  std::vector<Block> blocks;
  for (const auto& figure : figures) {
    if (blocks.empty() || !belong_together(*blocks.back().figures.back(), figure)) blocks.emplace_back();
    blocks.back().figures.push_back(&figure);
  }
  if (!blocks.empty()) join_like_tables(blocks);
  for (auto& block : blocks) {
    settle_scale(block, is_scale_largest);
    block.begins_column = block.figures[0]->begins_column;
    const auto is_of_first = [&](const auto* figure) {
      return figure->panel.id == block.figures[0]->panel.id;
    };
    const auto of_first =
        static_cast<std::size_t>(std::count_if(block.figures.begin(), block.figures.end(), is_of_first));
    const bool are_heads_of_layers = of_first > 1 && block.figures.size() % of_first == 0;
    const auto* const table = matrix_in(block.figures[0]);
    const bool is_strip = table != nullptr && &block.kind() == &heatmap &&
                          table->columns.size() >= many_times * table->rows.size();
    block.columns = are_heads_of_layers ? of_first : is_strip ? 1 : 0;
  }
  return blocks;
}

std::string explanation(const Block& block) {
  const auto* matrix = matrix_in(block.figures[0]);
  if (matrix == nullptr) return "";
  const auto &row = matrix->rows.name, &column = matrix->columns.name;
  const auto& look = block.look;
  if (matrix->kind == Matrix::Kind::mask)
    return fmt::format("Rows: {}. Columns: {}. A dark cell: the one may see the other.", row, column);
  const bool are_shares = matrix->kind == Matrix::Kind::shares;
  const bool is_attention = are_shares && (column == "key" || column == "source");
  std::string words;
  if (&block.kind() == &arcs)
    words = fmt::format("The thicker the line from a {} to a {}, the more the one looks at the other.", row,
                        column);
  else if (&block.kind() == &bars)
    words = fmt::format("Bars: the {} of each {}.", are_shares ? "share" : "number", column);
  else if (is_attention && !row.empty())
    words = fmt::format("A row: how much one {} looks at each {}.", row, column);
  else if (are_shares)
    words = fmt::format("{}A row: the share of each {}.", row.empty() ? "" : fmt::format("Rows: {}. ", row),
                        column);
  else
    words = (row.empty() ? "" : fmt::format("Rows: {}. ", row)) + fmt::format("Columns: {}.", column);
  if (look.has_negative) words += " Blue is above 0, orange below.";
  if (are_shares && &block.kind() == &heatmap && rows_sum_to_1(block)) words += " Each row sums to 1.";
  if (look.has_own_scales)
    words += " Each table has a scale of its own.";
  else if (are_shares && look.scale < 1.0)
    words += fmt::format(" The scale ends at {:g}, not at 1.", look.scale);
  return words;
}

namespace {

constexpr double below = 14.0, between_blocks = 2 * panel_gap;

/// With what colours mean and with the words below it, in one line if there is room.
Drawing drawn(const Block& block, const Room& room, const Drawing& words) {
  constexpr double beside_words = 28.0;
  const auto in_height = [&](double height) {
    return grid(panels_of(block), block.kind(), block.look, {room.width, std::max(height, 90.0)},
                block.columns);
  };
  const auto below_panels = [&](bool has_colours) {
    auto legend = legend_of(block, has_colours);
    if (legend.width + beside_words + words.width <= room.width)
      put_beside(legend, beside_words, words);
    else
      put_below(legend, 4, words);
    return legend;
  };
  const bool has_colours = std::any_of(block.figures.begin(), block.figures.end(), [](const auto* figure) {
    return matrix_in(figure) != nullptr && !can_have_numbers(*matrix_in(figure));
  });
  auto last = below_panels(has_colours);
  auto all = in_height(room.height - last.height - below);
  if (all.lacks_numbers && !has_colours) {
    last = below_panels(true);
    all = in_height(room.height - last.height - below);
  }
  put_below(all, below, last);
  return all;
}

double width_for(std::size_t count, double width) {
  return width - between_blocks * static_cast<double>(count - 1);
}

std::vector<Room> wishes(const std::vector<Block>& blocks) {
  std::vector<Room> wishes;
  for (const auto& block : blocks) wishes.push_back(wished_room(panels_of(block), block.kind()));
  return wishes;
}

double total(const std::vector<Room>& rooms, double Room::*side) {
  return std::accumulate(rooms.begin(), rooms.end(), 0.0,
                         [&](double sum, const Room& room) { return sum + room.*side; });
}

/// Each as high as it would like to be, in proportion.
Drawing drawn_below(const std::vector<Block>& blocks, const Room& room) {
  const auto rooms = wishes(blocks);
  Drawing all;
  double left = total(rooms, &Room::height);
  for (std::size_t i = 0; i < blocks.size(); left -= rooms[i++].height) {
    const double height = room.height - all.height - (i > 0 ? between_blocks / 2 : 0.0);
    auto one = drawn(blocks[i], {room.width, height * rooms[i].height / left}, {});
    const double width = std::max(one.width, room.width);
    put_below(all, between_blocks / 2, in_the_middle(std::move(one), width));
  }
  return all;
}

/// What begins a column, with what follows it.
std::vector<std::vector<Block>> columns_of(const std::vector<Block>& blocks) {
  std::vector<std::vector<Block>> columns;
  for (const auto& block : blocks) {
    if (columns.empty() || block.begins_column) columns.emplace_back();
    columns.back().push_back(block);
  }
  return columns;
}

}  // namespace

bool stand_beside(const std::vector<Block>& blocks, double width) {
  const bool can_shrink =
      std::all_of(blocks.begin(), blocks.end(), [](const Block& block) { return &block.kind() == &heatmap; });
  return columns_of(blocks).size() > 1 ||
         total(wishes(blocks), &Room::width) < (can_shrink ? 1.8 : 1.25) * width_for(blocks.size(), width);
}

Drawing draw(const std::vector<Block>& blocks, const Room& room, const Drawing& words) {
  if (blocks.size() == 1) return drawn(blocks[0], room, words);
  const Room above{room.width, room.height - (words.height > 0.0 ? words.height + below : 0.0)};
  auto columns = columns_of(blocks);
  if (columns.size() == 1 && stand_beside(blocks, room.width)) {
    columns.clear();
    for (const auto& block : blocks) columns.push_back({block});
  }
  std::vector<double> widths;
  for (const auto& column : columns) {
    widths.push_back(0.0);
    for (const auto& wish : wishes(column)) widths.back() = std::max(widths.back(), wish.width);
  }
  const double unit =
      width_for(columns.size(), room.width) / std::accumulate(widths.begin(), widths.end(), 0.0);
  Drawing all;
  for (std::size_t i = 0; i < columns.size(); ++i)
    put_beside(all, between_blocks, drawn_below(columns[i], {widths[i] * unit, above.height}));
  put_below(all, below, words);
  return all;
}

}  // namespace attn::svg

#include "page/svg/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "page/svg/grid.hpp"

namespace attn::svg {

namespace {

constexpr double smallest_of_usual_scale = 0.25;  // where no share is larger, the scale ends at the largest
constexpr double smallest_of_colours = 0.03;      // of the scale, that is told from 0

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
  if (one.kind != other.kind || (a == nullptr) != (b == nullptr)) return false;
  if (a == nullptr) return true;
  return a->kind == b->kind &&
         (a->kind == Matrix::Kind::shares || (a->columns.name == b->columns.name && are_of_one_size(*a, *b)));
}

/// The largest share, or of many rows one that half of them do not exceed: the first few words of a long
/// sentence have few others to look at.
double usual_largest_share(const Matrix& matrix) {
  constexpr std::size_t most_rows_of_all = 40;
  const std::size_t columns = matrix.columns.size();
  std::vector<double> largest;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (i % columns == 0) largest.push_back(0.0);
    if (std::isfinite(matrix.values[i])) largest.back() = std::max(largest.back(), matrix.values[i]);
  }
  std::sort(largest.begin(), largest.end());
  return largest.size() <= most_rows_of_all ? largest.back() : largest[largest.size() / 2];
}

void settle_scale(Block& block, std::optional<bool> is_scale_largest) {
  auto& look = block.look;
  look.largest = 0.0;
  double end = 0.0;
  bool are_shares = false;
  for (const auto* figure : block.figures)
    if (const auto* matrix = matrix_in(figure)) {
      look.largest = std::max(look.largest, matrix->largest());
      look.has_negative = look.has_negative || matrix->has_negative();
      are_shares = matrix->kind != Matrix::Kind::numbers;
      end = std::max(end, are_shares ? usual_largest_share(*matrix) : matrix->largest());
    }
  if (is_scale_largest == true) end = look.largest;
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

Drawing legend_of(const Block& block) {
  const auto* first = matrix_in(block.figures[0]);
  if (first == nullptr) return {};
  bool has_hidden = false, has_nan = false;
  for (const auto* figure : block.figures) {
    const auto& values = matrix_in(figure)->values;
    const auto& hidden = matrix_in(figure)->hidden;
    for (std::size_t i = 0; i < values.size(); ++i) {
      has_hidden = has_hidden || hidden[i];
      has_nan = has_nan || std::isnan(values[i]);
    }
  }
  return legend(block.kind(), *first, block.look, has_hidden, has_nan);
}

Panels panels_of(const Block& block) {
  Panels panels;
  for (const auto* figure : block.figures) panels.push_back(&figure->panel);
  return panels;
}

}  // namespace

namespace {

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
    const auto is_of_first = [&](const auto* figure) {
      return figure->panel.id == block.figures[0]->panel.id;
    };
    const auto of_first =
        static_cast<std::size_t>(std::count_if(block.figures.begin(), block.figures.end(), is_of_first));
    const bool are_heads_of_layers = of_first > 1 && block.figures.size() % of_first == 0;
    block.columns = are_heads_of_layers ? of_first : 0;
  }
  return blocks;
}

std::string remark(const Block& block) {
  const auto* matrix = matrix_in(block.figures[0]);
  if (matrix == nullptr) return "";
  const auto& look = block.look;
  const bool are_shares = matrix->kind == Matrix::Kind::shares;
  std::string words;
  if (&block.kind() == &arcs) words = remark_on_arcs(*matrix, look);
  if (are_shares && &block.kind() == &heatmap && rows_sum_to_1(block)) words += " Each row sums to 1.";
  if (are_shares && look.scale < 1.0 && !look.has_own_scales)
    words += fmt::format(" The scale ends at {:g}, not at 1{}.", look.scale,
                         look.scale < look.largest ? ", and what is larger has its colour" : "");
  return words.empty() ? "" : words.substr(1);
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
  const auto more = remark(block);
  return words + (more.empty() ? "" : " ") + more;
}

Drawing draw(const Block& block, const Room& room, bool is_explained) {
  constexpr double above = 12.0, beside = 18.0;
  auto legend = legend_of(block);
  if (is_explained) {
    const auto words = remark(block);
    const double left = room.width - legend.width - beside;
    if (text_width(words) <= left)
      put_beside(legend, beside, lines_of_text(words, left, font_size, "muted"));
    else
      put_below(legend, 4, lines_of_text(words, room.width, font_size, "muted"));
  }
  auto all = grid(panels_of(block), block.kind(), block.look,
                  {room.width, std::max(room.height - legend.height - above, 90.0)}, block.columns);
  put_below(all, above, legend);
  return all;
}

namespace {

constexpr double beside = 2 * panel_gap;

double width_for(const std::vector<Block>& blocks, double width) {
  return width - beside * static_cast<double>(blocks.size() - 1);
}

std::vector<double> wished_widths(const std::vector<Block>& blocks) {
  std::vector<double> widths;
  for (const auto& block : blocks) widths.push_back(wished_width(panels_of(block), block.kind()));
  return widths;
}

}  // namespace

bool stand_beside(const std::vector<Block>& blocks, double width) {
  const auto widths = wished_widths(blocks);
  const bool can_shrink =
      std::all_of(blocks.begin(), blocks.end(), [](const Block& block) { return &block.kind() == &heatmap; });
  return std::accumulate(widths.begin(), widths.end(), 0.0) <
         (can_shrink ? 1.8 : 1.25) * width_for(blocks, width);
}

Drawing draw(const std::vector<Block>& blocks, const Room& room, bool are_explained) {
  constexpr double below = 24.0;
  const auto widths = wished_widths(blocks);
  const double unit = width_for(blocks, room.width) / std::accumulate(widths.begin(), widths.end(), 0.0);
  const bool are_beside = stand_beside(blocks, room.width);
  Drawing all;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (are_beside) {
      put_beside(all, beside, draw(blocks[i], {widths[i] * unit, room.height}, are_explained));
    } else {
      const double left = room.height - all.height - (i > 0 ? below : 0.0);
      const double share = left / static_cast<double>(blocks.size() - i);
      put_below(all, below, draw(blocks[i], {room.width, share}, are_explained));
    }
  return all;
}

}  // namespace attn::svg

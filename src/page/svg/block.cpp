#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double caption_size = 16.0, caption_height = 26.0, remark_height = 17.0, panel_gap = 20.0;

/// Shares are compared with each other, numbers with those that have the same columns, queries with keys, and
/// about the same size, so that the colours of one scale show both.
bool belong_together(const Panel& one, const Panel& other) {
  constexpr double smallest_of_colours = 0.03;  // of the scale, that is told from 0
  const auto *a = one.matrix(), *b = other.matrix();
  if (one.kind != other.kind || (a == nullptr) != (b == nullptr) || other.begins_column) return false;
  if (a == nullptr) return true;
  const auto [smaller, larger] = std::minmax({largest_size(a->values), largest_size(b->values)});
  return a->kind == b->kind &&
         (a->kind == Matrix::Kind::shares || (a->columns.name == b->columns.name &&
                                              (smaller == 0.0 || smaller >= smallest_of_colours * larger)));
}

/// One look for all panels, whose scale ends at a round number: that of shares at 1, unless they are small,
/// and where a few rows have much larger numbers, at that of the others.
void settle_look(const Panels& panels, std::optional<bool> is_scale_largest) {
  constexpr double smallest_usual = 0.5;     // where few rows have larger shares, the scale ends there
  constexpr double larger_than_usual = 4.0;  // so many times, a number is not on the scale
  constexpr double rows_on_scale = 0.7;      // of all
  Look look{.scale = 1.0, .largest = 0.0};
  std::vector<double> largest;  // of each row, in size
  for (const auto* panel : panels)
    for (std::size_t i = 0; panel->matrix() != nullptr && i < panel->matrix()->values.size(); ++i) {
      const double value = panel->matrix()->values[i];
      if (i % panel->matrix()->columns.size() == 0) largest.push_back(0.0);
      if (!std::isfinite(value)) continue;
      largest.back() = std::max(largest.back(), std::abs(value));
      look.has_negative = look.has_negative || value < 0.0;
    }
  std::sort(largest.begin(), largest.end());
  if (!largest.empty() && largest.back() > 0.0) {
    look.largest = largest.back();
    const bool are_shares = panels[0]->matrix()->kind != Matrix::Kind::numbers;
    const auto count = static_cast<double>(largest.size());
    const double usual =
        largest[static_cast<std::size_t>(std::min(count - 1, std::ceil(rows_on_scale * count)))];
    const bool ends_at_usual = usual > 0.0 && (are_shares || look.largest > larger_than_usual * usual);
    const double end = ends_at_usual && is_scale_largest != true ? usual : look.largest;
    const bool ends_at_1 = is_scale_largest ? !*is_scale_largest : end >= smallest_usual;
    look.scale =
        are_shares && ends_at_1 ? 1.0 : round_up(end, {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0});
  }
  for (auto* panel : panels) panel->look = look;
}

/// Of heads of layers a row for each layer, of strips one below the other, of others any number.
std::size_t wanted_columns(const Panels& panels) {
  constexpr std::size_t many_times = 8;  // as many columns as rows: a strip
  const auto of_first = static_cast<std::size_t>(std::count_if(
      panels.begin(), panels.end(), [&](const Panel* panel) { return panel->id == panels[0]->id; }));
  if (of_first > 1 && panels.size() % of_first == 0) return of_first;
  const auto* const table = panels[0]->kind == &heatmap ? panels[0]->matrix() : nullptr;
  return table != nullptr && table->columns.size() >= many_times * table->rows.size() ? 1 : 0;
}

Room larger(const Room& a, const Room& b) {
  return {std::max(a.width, b.width), std::max(a.height, b.height)};
}

double total(const std::vector<double>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

/// Of the caption and the lines below it.
double width_of_words(const Panel& panel) {
  return std::max(bold * text_width(panel.caption, caption_size), widest(panel.remarks));
}

/// Panels of one kind beside each other and below one another, each with its caption. A neighbour's labels
/// stand for those of a panel where they are the same.
class Grid {
 public:
  explicit Grid(const Panels& panels) : panels_(panels), kind_(*panels[0]->kind) {
    std::size_t remarks = 0;
    for (const auto* panel : panels_) {
      wish_ = larger(wish_, kind_.wish(*panel));
      words_ = std::max(words_, width_of_words(*panel));
      remarks = std::max(remarks, panel->remarks.size());
    }
    above_ = (words_ > 0.0 ? caption_height : 0.0) + remark_height * static_cast<double>(remarks);
  }

  /// In one row.
  Room wished_room() const {
    const auto labels = kind_.beside(*panels_[0], wish_);
    return {static_cast<double>(panels_.size()) * (std::max(wish_.width, words_) + panel_gap) + labels.width,
            wish_.height + above_ + labels.height};
  }

  /// In as many columns as give each the most room, or in so many where they leave enough of it; no wider
  /// than the room, unless one panel alone is.
  Drawing draw(const Room& room) const {
    auto columns = columns_in(room, wanted_columns(panels_));
    auto drawing = draw_in(columns, room);
    while (columns > 1 && drawing.width > room.width + 1.0) {
      const auto even = (panels_.size() + rows(columns)) / (rows(columns) + 1);  // with a row more
      columns = std::min(columns - 1, even);
      drawing = draw_in(columns, room);
    }
    return drawing;
  }

 private:
  std::size_t rows(std::size_t columns) const { return (panels_.size() + columns - 1) / columns; }

  /// The columns in which a panel has labels of rows, and the rows in which one has those of columns: one of
  /// them differs from its neighbour.
  struct Labelled {
    std::vector<bool> columns, rows;
  };

  Labelled labelled(std::size_t columns) const {
    Labelled result{std::vector<bool>(columns), std::vector<bool>(rows(columns))};
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const auto is_like = [&](std::size_t back, bool have_rows_to_agree) {
        const auto *own = panels_[i]->matrix(), *other = panels_[i - back]->matrix();
        return own != nullptr && other != nullptr && own->columns == other->columns &&
               (!have_rows_to_agree || own->rows == other->rows);
      };
      if (i % columns == 0 || !is_like(1, true)) result.columns[i % columns] = true;
      if (i < columns || !is_like(columns, false)) result.rows[i / columns] = true;
    }
    return result;
  }

  /// What each panel gets. The labels' room depends on that of the panels, and the other way round.
  Room room_of_one(const Room& room, std::size_t columns) const {
    const auto count = [](const std::vector<bool>& labels) {
      return static_cast<double>(std::count(labels.begin(), labels.end(), true));
    };
    const auto has_labels = labelled(columns);
    const auto across = static_cast<double>(columns), down = static_cast<double>(rows(columns));
    Room one = wish_;
    for (int i = 0; i < 3; ++i) {
      Room labels{0.0, 0.0};
      for (const auto* panel : panels_) labels = larger(labels, kind_.beside(*panel, readable(one, columns)));
      labels = {labels.width * count(has_labels.columns), labels.height * count(has_labels.rows)};
      one = {(room.width - panel_gap * (across - 1) - labels.width) / across,
             (room.height - panel_gap * (down - 1) - above_ * down - labels.height) / down};
    }
    return one;
  }

  /// So high that words have room, unless the panels are thumbnails.
  Room readable(const Room& one, std::size_t columns) const {
    constexpr double smallest_part = 0.31;    // of the height that a table would like: its words can be read
    constexpr std::size_t most_readable = 4;  // rows of tables; more are thumbnails
    const bool can_be_low = &kind_ != &heatmap || rows(columns) > most_readable;
    return {one.width, can_be_low ? one.height : std::max(one.height, smallest_part * wish_.height)};
  }

  double fit(const Room& room, std::size_t columns) const {
    const auto one = room_of_one(room, columns);
    return std::max(0.01, std::min({1.0, one.width / wish_.width, one.height / wish_.height}));
  }

  std::size_t columns_in(const Room& room, std::size_t wanted) const {
    const auto unfilled = [&](std::size_t columns) { return rows(columns) * columns - panels_.size(); };
    const auto most = static_cast<std::size_t>((room.width + panel_gap) / (words_ + panel_gap));
    std::size_t best = std::clamp<std::size_t>(most, 1, panels_.size());
    for (std::size_t columns = best; columns > 0; --columns)
      if (const double gain = fit(room, columns) / fit(room, best);
          gain > (unfilled(columns) > unfilled(best) ? 1.4 : 1.02) ||
          (gain > 0.55 && unfilled(columns) < unfilled(best)))
        best = columns;
    return wanted == 1 || (wanted > 0 && fit(room, wanted) > 0.45 * fit(room, best)) ? wanted : best;
  }

  Drawing draw_in(std::size_t columns, const Room& room) const {
    const auto one = readable(room_of_one(room, columns), columns);
    const auto has_labels = labelled(columns);
    std::vector<Drawing> drawings;
    std::vector<double> widths(columns, 0.0);
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const auto& panel = *panels_[i];
      const auto wish = kind_.wish(panel);
      auto own = one;
      if (&kind_ == &heatmap)  // cells of one size in all of them
        own = {one.width * wish.width / wish_.width, one.height * wish.height / wish_.height};
      const auto drawing =
          kind_.draw(panel, own, {has_labels.columns[i % columns], has_labels.rows[i / columns]});
      const double words = width_of_words(panel), width = std::max(drawing.width, words);
      const double left = std::min(drawing.left, width - words);
      Drawing cell;
      cell.text(left, caption_size, panel.caption, Anchor::start, "caption");
      double y = panel.caption.empty() ? 0.0 : caption_size + 3;
      for (const auto& remark : panel.remarks) cell.text(left, y += remark_height, remark);
      cell.put(0, above_, drawing);
      drawings.push_back(cell);
      widths[i % columns] = std::max(widths[i % columns], width);
    }
    const double width = total(widths) + panel_gap * static_cast<double>(columns - 1);
    Drawing all, line;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      drawings[i].width = widths[i % columns];
      line.put_beside(panel_gap, drawings[i]);
      if ((i + 1) % columns != 0 && i + 1 < panels_.size()) continue;
      all.put_below(panel_gap, in_the_middle(std::exchange(line, {}), width));
    }
    return all;
  }

  const Panels& panels_;
  const Kind& kind_;
  Room wish_{1.0, 1.0};               ///< of the largest panel
  double words_ = 0.0, above_ = 0.0;  ///< the width of captions and remarks, and their height
};

constexpr double below = 14.0, between_blocks = 2 * panel_gap;

/// With what colours mean and with the words below it, in one line if there is room.
Drawing drawn(const Panels& block, const Room& room, const Drawing& words) {
  constexpr double beside_words = 28.0, lowest = 90.0;
  const auto with_legend = [&](bool has_colours) {
    auto last = block[0]->kind->legend(block, has_colours);
    if (last.width + beside_words + words.width <= room.width)
      last.put_beside(beside_words, words);
    else
      last.put_below(4, words);
    auto all = Grid(block).draw({room.width, std::max(room.height - last.height - below, lowest)});
    all.put_below(below, last);
    return all;
  };
  const bool has_colours = any_of(block, [](const Panel* panel) {
    return panel->matrix() != nullptr && !can_have_numbers(*panel->matrix());
  });
  auto all = with_legend(has_colours);
  return all.lacks_numbers && !has_colours ? with_legend(true) : all;
}

double width_for(std::size_t count, double width) {
  return width - between_blocks * static_cast<double>(count - 1);
}

std::vector<double> wishes(const std::vector<Panels>& blocks, double Room::*side) {
  std::vector<double> wishes;
  for (const auto& block : blocks) wishes.push_back(Grid(block).wished_room().*side);
  return wishes;
}

/// Each as high as it would like to be, in proportion.
Drawing drawn_below(const std::vector<Panels>& blocks, const Room& room) {
  const auto heights = wishes(blocks, &Room::height);
  Drawing all;
  double left = total(heights);
  for (std::size_t i = 0; i < blocks.size(); left -= heights[i++]) {
    const double height = room.height - all.height - (i > 0 ? between_blocks / 2 : 0.0);
    auto one = drawn(blocks[i], {room.width, height * heights[i] / left}, {});
    all.put_below(between_blocks / 2, in_the_middle(std::move(one), room.width));
  }
  return all;
}

/// What begins a column, with what follows it.
std::vector<std::vector<Panels>> columns_of(const std::vector<Panels>& blocks) {
  std::vector<std::vector<Panels>> columns;
  for (const auto& block : blocks) {
    if (columns.empty() || block[0]->begins_column) columns.emplace_back();
    columns.back().push_back(block);
  }
  return columns;
}

}  // namespace

std::vector<Panels> blocks_of(std::vector<Panel>& panels, std::optional<bool> is_scale_largest) {
  std::vector<Panels> blocks;
  for (auto& panel : panels) {
    if (blocks.empty() || !belong_together(*blocks.back().back(), panel)) blocks.emplace_back();
    blocks.back().push_back(&panel);
  }
  for (const auto& block : blocks) settle_look(block, is_scale_largest);
  const auto* const first = panels[0].matrix();
  const bool are_like = all_of(panels, [&](const Panel& panel) {
    return panel.kind == &heatmap && panel.matrix()->rows == first->rows &&
           panel.matrix()->columns == first->columns;
  });
  if (!are_like || blocks.size() < 3) return blocks;
  Panels all;  // in one block, in which tables keep their scales
  for (auto& panel : panels) all.push_back(&panel);
  return {all};
}

std::string explanation(const Panels& block) {
  const auto& look = block[0]->look;
  const auto* matrix = block[0]->matrix();
  if (matrix == nullptr) return "";
  const auto &row = matrix->rows.name, &column = matrix->columns.name;
  const bool are_shares = matrix->kind == Matrix::Kind::shares;
  auto words = (row.empty() ? "" : fmt::format("Rows: {}. ", row)) + fmt::format("Columns: {}.", column);
  if (matrix->kind == Matrix::Kind::mask) return words + " A dark cell: the one may see the other.";
  if (are_shares) words += fmt::format(" A row: the share of each {}.", column);
  if (block[0]->kind == &arcs) words += " The thicker a line, the larger the share.";
  if (look.has_negative) words += " Blue is above 0, orange below.";
  if (block.back()->look.scale != look.scale)
    words += " Each table has a scale of its own.";
  else if (are_shares && look.scale < 1.0)
    words += fmt::format(" The scale ends at {:g}, not at 1.", look.scale);
  return words;
}

bool stand_beside(const std::vector<Panels>& blocks, double width) {
  const bool can_shrink = all_of(blocks, [](const Panels& block) { return block[0]->kind == &heatmap; });
  return columns_of(blocks).size() > 1 ||
         total(wishes(blocks, &Room::width)) < (can_shrink ? 1.8 : 1.25) * width_for(blocks.size(), width);
}

Drawing draw(const std::vector<Panels>& blocks, const Room& room, const Drawing& words) {
  if (blocks.size() == 1) return drawn(blocks[0], room, words);
  auto columns = columns_of(blocks);
  if (columns.size() == 1 && stand_beside(blocks, room.width)) {
    columns.clear();
    for (const auto& block : blocks) columns.push_back({block});
  }
  std::vector<double> widths;
  for (const auto& column : columns) {
    const auto all = wishes(column, &Room::width);
    widths.push_back(*std::max_element(all.begin(), all.end()));
  }
  const double unit = width_for(columns.size(), room.width) / total(widths);
  const double height = room.height - (words.height > 0.0 ? words.height + below : 0.0);
  Drawing all;
  for (std::size_t i = 0; i < columns.size(); ++i)
    all.put_beside(between_blocks, drawn_below(columns[i], {widths[i] * unit, height}));
  all.put_below(below, words);
  return all;
}

}  // namespace attn::svg

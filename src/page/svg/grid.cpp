#include "page/svg/grid.hpp"

#include <algorithm>
#include <numeric>

#include "attn/text/width.hpp"

namespace attn::svg {

namespace {

constexpr double caption_size = 16.0, remark_size = font_size, remark_height = 17.0;
constexpr double smallest_part = 0.31;    // of the height that a panel would like: its words can be read
constexpr std::size_t most_readable = 4;  // rows of panels; more are thumbnails

Room larger(const Room& a, const Room& b) {
  return {std::max(a.width, b.width), std::max(a.height, b.height)};
}

bool have_same(const Panel& one, const Panel& other, Axis Matrix::*axis) {
  const auto *a = std::get_if<Matrix>(&one.content), *b = std::get_if<Matrix>(&other.content);
  return a != nullptr && b != nullptr && a->*axis == b->*axis;
}

/// Of the caption and the lines below it.
double width_of_words(const Panel& panel) {
  double width = bold * text_width(panel.caption, caption_size);
  for (const auto& remark : panel.remarks) width = std::max(width, text_width(remark, remark_size));
  return width;
}

double sum(const std::vector<double>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

/// Which columns of a grid have labels of their rows, and which rows those of their columns.
struct Labelled {
  std::vector<bool> columns, rows;
};

class Grid {
 public:
  Grid(const Panels& panels, const Kind& kind) : panels_(panels), kind_(kind) {
    for (const auto* panel : panels_) {
      wish_ = larger(wish_, kind.wish(*panel));
      caption_width_ = std::max(caption_width_, width_of_words(*panel));
      remarks_ = std::max(remarks_, panel->remarks.size());
    }
    caption_height_ = (caption_width_ > 0.0 ? 26.0 : 0.0) + remark_height * static_cast<double>(remarks_);
  }

  Room wished_room() const {
    const auto beside = kind_.beside(*panels_[0], wish_);
    return {static_cast<double>(panels_.size()) * (std::max(wish_.width, caption_width_) + panel_gap) +
                beside.width,
            wish_.height + caption_height_ + beside.height};
  }

  Labelled labelled(std::size_t columns) const {
    Labelled result{std::vector<bool>(columns, false), std::vector<bool>(rows(columns), false)};
    result.columns[0] = result.rows[0] = true;
    for (std::size_t i = 1; i < panels_.size(); ++i) {
      const auto column = i % columns, row = i / columns;
      if (column > 0 && !have_same(*panels_[i], *panels_[i - 1], &Matrix::rows))
        result.columns[column] = true;
      if (row > 0 && !have_same(*panels_[i], *panels_[i - columns], &Matrix::columns))
        result.rows[row] = true;
    }
    return result;
  }

  /// So high that words have room, unless the panels are thumbnails.
  Room readable(const Room& one, std::size_t columns) const {
    const double least =
        &kind_ == &heatmap && rows(columns) <= most_readable ? smallest_part * wish_.height : 0.0;
    return {one.width, std::max(one.height, least)};
  }

  /// The labels' room depends on that of the panels, and the other way round.
  Room room_of_one(const Room& room, std::size_t columns) const {
    const auto count = [](const std::vector<bool>& labels) {
      return static_cast<double>(std::count(labels.begin(), labels.end(), true));
    };
    const auto [of_columns, of_rows] = labelled(columns);
    const auto across = static_cast<double>(columns), down = static_cast<double>(of_rows.size());
    Room one = wish_;
    for (int i = 0; i < 3; ++i) {
      Room beside{0.0, 0.0};
      for (const auto* panel : panels_) beside = larger(beside, kind_.beside(*panel, readable(one, columns)));
      one = {
          (room.width - panel_gap * (across - 1) - beside.width * count(of_columns)) / across,
          (room.height - panel_gap * (down - 1) - caption_height_ * down - beside.height * count(of_rows)) /
              down};
    }
    return one;
  }

  double fit(const Room& room, std::size_t columns) const {
    const auto one = room_of_one(room, columns);
    return std::max(0.01, std::min({1.0, one.width / wish_.width, one.height / wish_.height}));
  }

  std::size_t columns_in(const Room& room, std::size_t wanted) const {
    const auto unfilled = [&](std::size_t columns) { return rows(columns) * columns - panels_.size(); };
    const auto most = static_cast<std::size_t>((room.width + panel_gap) / (caption_width_ + panel_gap));
    std::size_t best = std::clamp<std::size_t>(most, 1, panels_.size());
    for (std::size_t columns = best; columns > 0; --columns)
      if (const double gain = fit(room, columns) / fit(room, best);
          gain > (unfilled(columns) > unfilled(best) ? 1.4 : 1.02) ||
          (gain > 0.55 && unfilled(columns) < unfilled(best)))
        best = columns;
    return wanted == 1 || (wanted > 0 && fit(room, wanted) > 0.45 * fit(room, best)) ? wanted : best;
  }

  Drawing draw(const Look& look, const Room& room, std::size_t wanted_columns) const {
    auto columns = columns_in(room, wanted_columns);
    auto drawing = draw_in(columns, look, room);
    while (columns > 1 && drawing.width > room.width + 1.0) {
      const auto even = (panels_.size() + rows(columns)) / (rows(columns) + 1);  // with a row more
      columns = std::min(columns - 1, even);
      drawing = draw_in(columns, look, room);
    }
    return drawing;
  }

  Drawing draw_in(std::size_t columns, const Look& look, const Room& room) const {
    const auto one = readable(room_of_one(room, columns), columns);
    const auto [of_columns, of_rows] = labelled(columns);
    std::vector<Drawing> drawings;
    std::vector<double> widths(columns, 0.0), heights(of_rows.size(), 0.0);
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const auto column = i % columns, row = i / columns;
      const auto wish = kind_.wish(*panels_[i]);
      const Room own =
          &kind_ == &heatmap  // cells of one size in all of them
              ? Room{one.width * wish.width / wish_.width, one.height * wish.height / wish_.height}
              : one;
      drawings.push_back(kind_.draw(*panels_[i], look, own, {of_columns[column], of_rows[row]}));
      auto& [elements, width, height, left, lacks_words, lacks_numbers] = drawings.back();
      const double words = width_of_words(*panels_[i]);
      width = std::max(width, words);
      left = std::min(left, width - words);
      widths[column] = std::max(widths[column], width);
      heights[row] = std::max(heights[row], height + caption_height_);
    }
    Drawing all{"", sum(widths) + panel_gap * static_cast<double>(widths.size() - 1),
                sum(heights) + panel_gap * static_cast<double>(heights.size() - 1)};
    for (std::size_t i = 0; i < drawings.size(); ++i) {
      const auto across = static_cast<std::ptrdiff_t>(i % columns),
                 down = static_cast<std::ptrdiff_t>(i / columns);
      double x = std::accumulate(widths.begin(), widths.begin() + across, 0.0) +
                 panel_gap * static_cast<double>(across);
      if (const auto in_row = std::min(columns, drawings.size() - i / columns * columns); in_row < columns)
        x += (std::accumulate(widths.begin() + static_cast<std::ptrdiff_t>(in_row), widths.end(), 0.0) +
              panel_gap * static_cast<double>(columns - in_row)) /
             2;  // a last row with fewer stands in the middle
      const double y = std::accumulate(heights.begin(), heights.begin() + down, 0.0) +
                       panel_gap * static_cast<double>(down);
      const auto& caption = panels_[i]->caption;
      auto words = text(drawings[i].left, caption_size, caption, Anchor::start, "caption");
      double line = caption.empty() ? 0.0 : caption_size + 3;
      for (const auto& remark : panels_[i]->remarks)
        words += text(drawings[i].left, (line += remark_height), remark, Anchor::start, "label");
      const double lower = of_columns[i % columns] || &kind_ != &heatmap
                               ? 0.0
                               : heights[i / columns] - caption_height_ - drawings[i].height;
      all.elements += at(x, y, words + at(0, caption_height_ + lower, drawings[i].elements));
      all.lacks_words = all.lacks_words || drawings[i].lacks_words;
      all.lacks_numbers = all.lacks_numbers || drawings[i].lacks_numbers;
    }
    return all;
  }

 private:
  std::size_t rows(std::size_t columns) const { return (panels_.size() + columns - 1) / columns; }

  const Panels& panels_;
  const Kind& kind_;
  Room wish_{1.0, 1.0};  ///< of the largest panel
  double caption_width_ = 0.0, caption_height_ = 0.0;
  std::size_t remarks_ = 0;  ///< the most of a panel
};

}  // namespace

Drawing lines_of_text(const std::string& words, double width, double size, std::string_view style) {
  Drawing drawing;
  const auto columns = static_cast<std::size_t>(width * static_cast<double>(display_width(words)) /
                                                std::max(text_width(words, size), 1.0));
  for (const auto& line : wrap(words, std::max<std::size_t>(columns, 20))) {
    drawing.elements += text(0, drawing.height + size, line, Anchor::start, style);
    drawing.height += 1.4 * size;
    drawing.width = std::max(drawing.width, std::min(text_width(line, size), width));
  }
  return drawing;
}

void put_below(Drawing& above, double distance, const Drawing& drawing) {
  if (drawing.elements.empty()) return;
  if (above.elements.empty()) distance = 0.0;
  above.elements += at(0, above.height + distance, drawing.elements);
  above.height += distance + drawing.height;
  above.width = std::max(above.width, drawing.width);
  above.lacks_words = above.lacks_words || drawing.lacks_words;
}

void put_beside(Drawing& left, double distance, const Drawing& drawing) {
  if (drawing.elements.empty()) return;
  if (left.elements.empty()) distance = 0.0;
  left.elements += at(left.width + distance, 0, drawing.elements);
  left.width += distance + drawing.width;
  left.height = std::max(left.height, drawing.height);
  left.lacks_words = left.lacks_words || drawing.lacks_words;
}

Drawing in_the_middle(Drawing drawing, double width) {
  if (drawing.width >= width) return drawing;
  drawing.elements = at((width - drawing.width) / 2, 0, drawing.elements);
  drawing.width = width;
  return drawing;
}

Room wished_room(const Panels& panels, const Kind& kind) {
  return Grid(panels, kind).wished_room();
}

Drawing grid(const Panels& panels, const Kind& kind, const Look& look, const Room& room,
             std::size_t wanted_columns) {
  return Grid(panels, kind).draw(look, room, wanted_columns);
}

}  // namespace attn::svg

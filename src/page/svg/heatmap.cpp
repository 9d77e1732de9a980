#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "page/html/markup.hpp"
#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double widest_cell = 130.0, highest_cell = 80.0, usual_cell = 46.0, largest_letters = 18.0,
                 longest_side = 600.0;
constexpr double widest_overhang = 20.0;  // which a gap or a margin has room for
constexpr double gap_beside_label = 8.0, gap_beside_mark = 9.0;
constexpr std::size_t most_rectangles = 1600, most_readable_numbers = 300;

/// The names of the entries along an axis, where each has a line's room in its cell; else every tenth, say,
/// has its index.
struct Labels {
  Labels(const Axis& all, double cell, bool are_of_columns) : axis(all), widest(svg::widest(axis.labels)) {
    constexpr std::size_t most_indices = 16;
    const bool are_indices =
        axis.labels.front() == "0" && axis.labels.back() == fmt::format("{}", axis.size() - 1);
    const double needed = are_indices && are_of_columns ? widest + 4 : font_size;
    if (cell >= needed && !(are_indices && axis.size() > most_indices)) return;
    step = static_cast<std::size_t>(round_up(std::max(1.0, 3 * font_size / cell), {1.0, 2.0, 5.0}));
    lacks_words = !are_indices && step > 1;
    widest = text_width(fmt::format("{}", axis.size()));
  }

  std::string at(std::size_t i) const { return step == 1 ? axis.labels[i] : fmt::format("{}", i); }

  const Axis& axis;
  double widest;
  std::size_t step = 1;
  bool lacks_words = false;
};

/// The size of letters that fill such a room.
double filling(double width, double widest, double height) {
  return std::clamp(std::min(baseline * height, font_size * width / std::max(widest, 1.0)), font_size,
                    largest_letters);
}

/// Lines from the lower left to the upper right all over a rectangle.
void add_hatching(Drawing& drawing, double x, double y, double width, double height) {
  constexpr double distance = 8.0;
  std::string lines;
  for (double sum = distance / 2; sum < width + height; sum += distance) {
    const double low = std::max(0.0, sum - height), high = std::min(sum, width);
    lines += in_px("M{} {}L{} {}", x + low, y + sum - low, x + high, y + sum - high);
  }
  drawing.path("hatching", lines);
}

/// How wide and high a cell may be in such a room: nearly a square, unless one side has much more room; of
/// many words a square.
Room cell_in(const Room& room, const Matrix& matrix) {
  constexpr double most_words = 24.0;
  const auto columns = static_cast<double>(matrix.columns.size());
  const auto rows = static_cast<double>(matrix.rows.size());
  const bool is_long = std::max(rows, columns) >= 2 * std::min(rows, columns);
  const double wide = std::max(room.width / columns, 0.5), high = std::max(room.height / rows, 0.5);
  const double stretch = std::max(rows, columns) > most_words ? (is_long ? 2.5 : 1.0) : is_long ? 3.0 : 2.0;
  const double longest = stretch * std::min(wide, high);
  return {std::min({wide, widest_cell, longest}), std::min({high, highest_cell, longest})};
}

class HeatmapDrawing {
 public:
  HeatmapDrawing(const Panel& panel, const Room& room, const Shown& shown, bool can_show_numbers)
      : matrix_(*panel.matrix()), marks_(panel.marks), look_(panel.look), cell_(cell_in(room, matrix_)) {
    if (can_show_numbers && can_have_numbers(matrix_)) choose_numbers();
    if (shown.columns) columns_.emplace(matrix_.columns, cell_.width, true);
    if (shown.rows && !matrix_.rows.name.empty()) rows_.emplace(matrix_.rows, cell_.height, false);
    settle();
  }

  Room beside() const { return {left_ + right_, top_ + below_}; }

  Drawing draw() const {
    Drawing drawing;
    if (columns_) add_labels_of_columns(drawing);
    if (rows_) add_labels_of_rows(drawing);
    if (contains(matrix_.values, Matrix::hidden)) add_hatching(drawing, left_, top_, across_, down_);
    if (matrix_.values.size() > most_rectangles && can_pack)
      add_image(drawing);
    else
      add_cells(drawing);
    for (const auto& mark : marks_)
      if (!mark.value) add_mark(drawing, mark);
    drawing.width = left_ + across_ + right_;
    drawing.height = top_ + down_ + below_ + 2.0;
    drawing.left = left_;
    drawing.lacks_words = (columns_ && columns_->lacks_words) || (rows_ && rows_->lacks_words);
    drawing.lacks_numbers = numbers_.empty();
    return drawing;
  }

 private:
  /// Where they are readable, or asked for: then the cells grow.
  void choose_numbers() {
    auto numbers = short_numbers(matrix_);
    if (matrix_.kind == Matrix::Kind::shares && svg::widest(numbers) > cell_.width)
      for (auto& number : numbers)  // "0.31" as ".31"
        number = number.starts_with("0.") ? number.substr(1) : number == "1.00" ? "1" : number;
    const double widest = svg::widest(numbers);
    if (look_.numbers == true)
      cell_ = {std::max(cell_.width, widest + 6), std::max(cell_.height, font_size + 7)};
    number_size_ = filling(cell_.width - 8, widest, cell_.height);
    const bool are_readable = widest <= cell_.width && font_size + 4 <= cell_.height;
    if (look_.numbers.value_or(are_readable && numbers.size() <= most_readable_numbers))
      numbers_ = std::move(numbers);
  }

  /// What stands around the cells.
  void settle() {
    const auto& [width, height] = cell_;
    const double slope = std::sqrt(0.5);
    across_ = width * static_cast<double>(matrix_.columns.size());
    down_ = height * static_cast<double>(matrix_.rows.size());
    if (rows_) {
      row_size_ = rows_->step > 1 ? font_size : filling(INFINITY, rows_->widest, height);
      left_ = font_size + 10 + gap_beside_label +
              std::max(bold * rows_->widest * row_size_ / font_size, text_width(name_of_columns()));
    }
    if (columns_) {
      const double widest = columns_->widest;
      const bool are_turned = columns_->step == 1 && widest > 1.03 * width;
      rotation_ = !are_turned ? 0.0 : width >= 1.4 * font_size ? -45.0 : -90.0;  // lines aslant would touch
      column_size_ = are_turned || columns_->step > 1 ? font_size : filling(width, widest + 4, width);
      top_ = !are_turned ? column_size_ + 8 : rotation_ == -90.0 ? widest + 10 : slope * widest + 16;
      if (matrix_.rows.name.empty()) top_ += font_size + 8;
      const double last = slope * text_width(matrix_.columns.labels.back());
      if (rotation_ == -45.0) right_ = std::max(0.0, last + 10 - width / 2 - widest_overhang);
    }
    for (const auto& mark : marks_) {
      if (mark.words.empty()) continue;
      if (mark.row) right_ = std::max(right_, bold * text_width(mark.words) + gap_beside_mark);
      if (!mark.row) below_ = font_size + 8;
    }
  }

  /// In the corner where rows have labels, else above the columns.
  std::string name_of_columns() const {
    return matrix_.columns.name + (matrix_.rows.name.empty() ? "" : " →");
  }

  double x_of(std::size_t column) const { return left_ + static_cast<double>(column) * cell_.width; }
  double y_of(std::size_t row) const { return top_ + static_cast<double>(row) * cell_.height; }

  void add_labels_of_columns(Drawing& drawing) const {
    if (matrix_.rows.name.empty())
      drawing.text(left_ + across_ / 2, font_size, name_of_columns(), Anchor::middle, "muted");
    else if (rows_)
      drawing.text(left_ - gap_beside_label, top_ - 7, name_of_columns(), Anchor::end, "muted");
    std::string ticks;
    for (std::size_t j = 0; j < matrix_.columns.size(); j += columns_->step) {
      const double x = x_of(j) + cell_.width / 2;
      drawing.text(rotation_ == -90.0 ? x + baseline * font_size : x, top_ - 7, columns_->at(j),
                   rotation_ == 0.0 ? Anchor::middle : Anchor::start, "", column_size_, rotation_);
      if (columns_->step > 1) ticks += in_px("M{} {}v5", x, top_ - 6);
    }
    drawing.path("rule", ticks);
  }

  /// The name of the axis beside the labels, upwards.
  void add_labels_of_rows(Drawing& drawing) const {
    drawing.text(font_size, top_ + down_ / 2, matrix_.rows.name, Anchor::middle, "muted", font_size, -90.0);
    std::string ticks;
    for (std::size_t i = 0; i < matrix_.rows.size(); i += rows_->step) {
      const double y = y_of(i) + cell_.height / 2;
      const bool is_marked = any_of(marks_, [&](const Mark& mark) {
        return mark.row == i && !mark.column && mark.last_row.value_or(i) == i;
      });
      drawing.text(left_ - gap_beside_label, y + baseline * row_size_, rows_->at(i), Anchor::end,
                   is_marked ? "mark" : "", row_size_);
      if (rows_->step > 1) ticks += in_px("M{} {}h5", left_ - 6, y);
    }
    drawing.path("rule", ticks);
  }

  /// Squares of size 1 that are stretched, in groups of one colour, between them lines of paper where there
  /// is room, and the numbers, in such groups as well.
  void add_cells(Drawing& drawing) const {
    const auto& [width, height] = cell_;
    std::map<std::string, Drawing> squares, numbers;
    for (std::size_t i = 0; i < matrix_.values.size(); ++i) {
      const double value = matrix_.values[i];
      if (value == Matrix::hidden) continue;
      const auto row = i / matrix_.columns.size(), column = i % matrix_.columns.size();
      const auto paint = !std::isfinite(value)    ? paint_of_mark()
                         : matrix_.paints.empty() ? paint_of_place(value / look_.scale)
                                                  : matrix_.paints[i];
      squares[paint].elements += fmt::format(  // "girls → saw: 0.1234"
          "<path d=\"M{} {}h1v1h-1\"><title>{}{}: {}</title></path>\n", column, row,
          matrix_.rows.name.empty() ? "" : escaped(matrix_.rows.labels[row]) + " → ",
          escaped(matrix_.columns.labels[column]),
          matrix_.kind == Matrix::Kind::mask ? "seen" : fmt::format("{:.4g}", value));
      if (!numbers_.empty())
        numbers[paint].text(x_of(column) + width / 2, y_of(row) + height / 2 + baseline * number_size_,
                            numbers_[i], Anchor::start, "", number_size_);
    }
    Drawing cells, words;
    for (const auto& [paint, drawings] : squares) cells.group(paint, drawings.elements);
    for (const auto& [paint, drawings] : numbers) words.group(paint, drawings.elements);
    const bool has_gaps = std::min(width, height) >= font_size;
    drawing.group(
        fmt::format("class=\"attn-cells\" {}transform=\"translate({} {}) scale({:.5g} {:.5g})\"",
                    has_gaps ? "" : "shape-rendering=\"crispEdges\" ", px(left_), px(top_), width, height),
        cells.elements);
    std::string gaps;
    for (std::size_t j = 1; has_gaps && j < matrix_.columns.size(); ++j)
      gaps += in_px("M{} {}v{}", x_of(j), top_, down_);
    for (std::size_t i = 1; has_gaps && i < matrix_.rows.size(); ++i)
      gaps += in_px("M{} {}h{}", left_, y_of(i), across_);
    drawing.path("gaps", gaps);
    drawing.group("class=\"attn-on\" text-anchor=\"middle\"", words.elements);
  }

  /// The same for many cells.
  void add_image(Drawing& drawing) const {
    auto places = matrix_.values;
    for (auto& value : places) value /= look_.scale;
    for (const auto theme : look_.themes)
      drawing.elements +=
          in_px("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" ", left_, top_, across_, down_) +
          fmt::format(
              "class=\"attn-image-{}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/>\n",
              theme == Theme::light ? "light" : "dark",
              html::base64(png(places, matrix_.columns.size(), theme)));
    drawing.frame(left_, top_, across_, down_, "rule");
  }

  void add_mark(Drawing& drawing, const Mark& mark) const {
    const double x = x_of(mark.column.value_or(0)), y = y_of(mark.row.value_or(0));
    const double width = mark.column ? cell_.width : across_;
    const double height = mark.row ? y_of(mark.last_row.value_or(*mark.row) + 1) - y : down_;
    for (const auto* const line : {"halo", "frame"}) drawing.frame(x, y, width, height, line);
    if (mark.row)
      drawing.text(left_ + across_ + gap_beside_mark, y + height / 2 + baseline * font_size, mark.words,
                   Anchor::start, "mark");
    else
      drawing.text(x + width / 2, y + height + font_size + 5, mark.words, Anchor::middle, "mark");
  }

  const Matrix& matrix_;
  const std::vector<Mark>& marks_;
  const Look& look_;
  Room cell_;
  std::optional<Labels> rows_{}, columns_{};                       ///< none where they are not shown
  std::vector<std::string> numbers_{};                             ///< the same
  double across_ = 0.0, down_ = 0.0;                               ///< of all cells
  double left_ = 0.0, top_ = 0.0, right_ = 0.0, below_ = 0.0;      ///< what stands around them
  double row_size_ = 0.0, column_size_ = 0.0, number_size_ = 0.0;  ///< of letters
  double rotation_ = 0.0;  ///< of words that are wider than their columns
};

Drawing colour_bar(const Look& look) {
  constexpr double length = 120.0, thickness = 14.0;
  constexpr int steps = 20;
  const double from = look.has_negative ? -1.0 : 0.0;
  const auto first = with_minus_sign(fmt::format("{:.4g}", from * look.scale));
  const auto last = fmt::format("{:.4g}{}", look.scale, look.scale < look.largest ? " and more" : "");
  const double left = text_width(first) + 6;
  Drawing shades;
  for (int i = 0; i < steps; ++i)
    shades.rectangle(left + i * length / steps, 0, length / steps, thickness,
                     paint_of_place(from + (1 - from) * (i + 0.5) / steps));
  Drawing bar{"", left + length + 6 + text_width(last), thickness + 4};
  bar.group("shape-rendering=\"crispEdges\"", shades.elements);
  bar.text(0, font_size - 1, first);
  bar.text(left + length + 6, font_size - 1, last);
  return bar;
}

/// A square with that paint, or hatched without one, and what it means, right of what is there.
void add_entry(Drawing& drawing, const std::string& paint, const std::string& words) {
  constexpr double side = 14.0;
  Drawing entry{"", side + 6 + text_width(words), side + 4};
  if (paint.empty()) add_hatching(entry, 0, 0, side, side);
  if (!paint.empty()) entry.rectangle(0, 0, side, side, paint);
  entry.frame(0, 0, side, side, "rule");
  entry.text(side + 6, font_size - 1, words);
  drawing.put_beside(22, entry);
}

Drawing legend_of_heatmap(const Panels& panels, bool has_colours) {
  const auto& look = panels[0]->look;
  const auto kind = panels[0]->matrix()->kind;
  bool has_hidden = false, has_nan = false, have_one_scale = true;
  std::map<std::string, std::string> parts;
  for (const auto* panel : panels) {
    const auto& matrix = *panel->matrix();
    have_one_scale = have_one_scale && panel->look.scale == look.scale;
    has_hidden = has_hidden || contains(matrix.values, Matrix::hidden);
    has_nan = has_nan || any_of(matrix.values, [](double value) { return std::isnan(value); });
    for (std::size_t i = 0; i < matrix.words.size(); ++i)
      if (!matrix.words[i].empty()) parts[matrix.words[i]] = matrix.paints[i];
  }
  Drawing drawing;
  if (kind == Matrix::Kind::mask)
    add_entry(drawing, paint_of_place(1.0), "may be seen");
  else if (!have_one_scale)
    drawing = lines_of_text("Darkest: the largest number of the table.", 600, font_size, "muted");
  else if (has_colours && panels[0]->matrix()->paints.empty())
    drawing = colour_bar(look);
  if (has_colours)
    for (const auto& [words, paint] : parts) add_entry(drawing, paint, words);
  if (has_hidden) add_entry(drawing, "", kind == Matrix::Kind::numbers ? "no number here" : "hidden");
  if (has_nan) add_entry(drawing, paint_of_mark(), "nan: not a number");
  return drawing;
}

Room wish_of_heatmap(const Panel& panel) {
  const auto of = [](const Axis& axis) {
    return std::min(static_cast<double>(axis.size()) * usual_cell, longest_side);
  };
  return {of(panel.matrix()->columns), of(panel.matrix()->rows)};
}

Room beside_heatmap(const Panel& panel, const Room& room) {
  return HeatmapDrawing(panel, room, {}, false).beside();
}

Drawing draw_heatmap(const Panel& panel, const Room& room, const Shown& shown) {
  return HeatmapDrawing(panel, room, shown, true).draw();
}

}  // namespace

const Kind heatmap{"heatmap", wish_of_heatmap, draw_heatmap, beside_heatmap, legend_of_heatmap};
const Kind together{"together", wish_of_heatmap, draw_heatmap};

bool can_have_numbers(const Matrix& matrix) {
  return matrix.values.size() <= most_rectangles && matrix.kind != Matrix::Kind::mask;
}

}  // namespace attn::svg

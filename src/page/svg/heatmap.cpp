#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attn/text/width.hpp"
#include "page/html/markup.hpp"
#include "page/svg/panel.hpp"
#include "page/svg/png.hpp"

namespace attn::svg {

double Matrix::largest() const {
  double largest = 0.0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

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
    for (std::size_t power = 1; static_cast<double>(step) * cell < 3 * font_size; power *= 10)
      for (const std::size_t digit : {1, 2, 5})
        if (static_cast<double>(step) * cell < 3 * font_size) step = digit * power;
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

/// "0.31" as ".31".
std::string without_nought(const std::string& number) {
  return number.starts_with("0.") ? number.substr(1) : number == "1.00" ? "1" : number;
}

class HeatmapDrawing {
 public:
  HeatmapDrawing(const Panel& panel, const Room& room, const Shown& shown = {})
      : matrix_(*panel.matrix()), marks_(panel.marks), look_(panel.look), shown_(shown) {
    choose_cells(room);
  }

  Room beside() {
    settle(row_labels(), column_labels());
    return {left_ + right_, top_ + below_};
  }

  Drawing draw() {
    choose_numbers();
    const auto rows = row_labels(), columns = column_labels();
    settle(rows, columns);
    Drawing drawing;
    if (shown_.columns) add_labels_of_columns(drawing, columns);
    if (has_rows()) add_labels_of_rows(drawing, rows);
    if (std::find(matrix_.values.begin(), matrix_.values.end(), Matrix::hidden) != matrix_.values.end())
      add_hatching(drawing, left_, top_, across_, down_);
    if (matrix_.values.size() > most_rectangles && can_pack)
      add_image(drawing);
    else
      add_cells(drawing);
    for (const auto& mark : marks_) add_mark(drawing, mark);
    drawing.width = left_ + across_ + right_;
    drawing.height = top_ + down_ + below_ + 2.0;
    drawing.left = left_;
    drawing.lacks_words = (shown_.columns && columns.lacks_words) || (has_rows() && rows.lacks_words);
    drawing.lacks_numbers = numbers_.empty();
    return drawing;
  }

 private:
  Labels row_labels() const { return {matrix_.rows, height_, false}; }
  Labels column_labels() const { return {matrix_.columns, width_, true}; }
  bool has_rows() const { return !matrix_.rows.name.empty() && shown_.rows; }

  /// Nearly squares, unless one side has much more room: of many words squares.
  void choose_cells(const Room& room) {
    constexpr double most_words = 24.0;
    const auto columns = static_cast<double>(matrix_.columns.size());
    const auto rows = static_cast<double>(matrix_.rows.size());
    const bool is_long = std::max(rows, columns) >= 2 * std::min(rows, columns);
    const double wide = std::max(room.width / columns, 0.5), high = std::max(room.height / rows, 0.5);
    const double stretch = std::max(rows, columns) > most_words ? (is_long ? 2.5 : 1.0) : is_long ? 3.0 : 2.0;
    width_ = std::min({wide, widest_cell, stretch * std::min(wide, high)});
    height_ = std::min({high, highest_cell, stretch * std::min(wide, high)});
  }

  /// Where they are readable, or asked for: then the cells grow.
  void choose_numbers() {
    if (!can_have_numbers(matrix_)) return;
    auto numbers = short_numbers(matrix_);
    if (matrix_.kind == Matrix::Kind::shares && svg::widest(numbers) > width_)
      for (auto& number : numbers) number = without_nought(number);
    const double widest = svg::widest(numbers);
    if (look_.numbers == true) {
      width_ = std::max(width_, widest + 6);
      height_ = std::max(height_, font_size + 7);
    }
    const bool are_readable = widest <= width_ && font_size + 4 <= height_;
    if (look_.numbers.value_or(are_readable && numbers.size() <= most_readable_numbers))
      numbers_ = std::move(numbers);
    number_size_ = filling(width_ - 8, widest, height_);
  }

  /// What stands around the cells.
  void settle(const Labels& rows, const Labels& columns) {
    const double slope = std::sqrt(0.5);
    across_ = width_ * static_cast<double>(matrix_.columns.size());
    down_ = height_ * static_cast<double>(matrix_.rows.size());
    row_size_ = rows.step > 1 ? font_size : filling(INFINITY, rows.widest, height_);
    const bool are_turned = columns.step == 1 && columns.widest > 1.03 * width_;
    rotation_ = !are_turned ? 0.0 : width_ >= 1.4 * font_size ? -45.0 : -90.0;  // lines aslant would touch
    column_size_ = are_turned || columns.step > 1 ? font_size : filling(width_, columns.widest + 4, width_);
    if (has_rows())
      left_ = font_size + 10 + gap_beside_label +
              std::max(bold * rows.widest * row_size_ / font_size, text_width(name_of_columns()));
    if (shown_.columns) {
      top_ = !are_turned          ? column_size_ + 8
             : rotation_ == -90.0 ? columns.widest + 10
                                  : slope * columns.widest + 16;
      if (matrix_.rows.name.empty()) top_ += font_size + 8;
      if (rotation_ == -45.0)
        right_ = std::max(
            0.0, slope * text_width(matrix_.columns.labels.back()) + 10 - width_ / 2 - widest_overhang);
    }
    for (const auto& mark : marks_)
      if (!mark.words.empty()) {
        if (mark.row) right_ = std::max(right_, bold * text_width(mark.words) + gap_beside_mark);
        if (!mark.row) below_ = font_size + 8;
      }
  }

  /// In the corner where rows have labels, else above the columns.
  std::string name_of_columns() const {
    return matrix_.columns.name + (matrix_.rows.name.empty() ? "" : " →");
  }

  double x_of(std::size_t column) const { return left_ + static_cast<double>(column) * width_; }
  double y_of(std::size_t row) const { return top_ + static_cast<double>(row) * height_; }

  void add_labels_of_columns(Drawing& drawing, const Labels& labels) const {
    if (matrix_.rows.name.empty())
      drawing.text(left_ + across_ / 2, font_size, name_of_columns(), Anchor::middle, "muted");
    else if (has_rows())
      drawing.text(left_ - gap_beside_label, top_ - 7, name_of_columns(), Anchor::end, "muted");
    std::string ticks;
    for (std::size_t j = 0; j < matrix_.columns.size(); j += labels.step) {
      const double x = x_of(j) + width_ / 2;
      drawing.text(rotation_ == -90.0 ? x + baseline * font_size : x, top_ - 7, labels.at(j),
                   rotation_ == 0.0 ? Anchor::middle : Anchor::start, "", column_size_, rotation_);
      if (labels.step > 1) ticks += in_px("M{} {}v5", x, top_ - 6);
    }
    drawing.path("rule", ticks);
  }

  /// The name of the axis beside the labels, upwards.
  void add_labels_of_rows(Drawing& drawing, const Labels& labels) const {
    drawing.text(font_size, top_ + down_ / 2, matrix_.rows.name, Anchor::middle, "muted", font_size, -90.0);
    std::string ticks;
    for (std::size_t i = 0; i < matrix_.rows.size(); i += labels.step) {
      const double y = y_of(i) + height_ / 2;
      const bool is_marked = std::any_of(marks_.begin(), marks_.end(), [&](const Mark& mark) {
        return mark.row == i && !mark.column && mark.last_row.value_or(i) == i;
      });
      drawing.text(left_ - gap_beside_label, y + baseline * row_size_, labels.at(i), Anchor::end,
                   is_marked ? "mark" : "", row_size_);
      if (labels.step > 1) ticks += in_px("M{} {}h5", left_ - 6, y);
    }
    drawing.path("rule", ticks);
  }

  /// "girls → saw: 0.1234".
  std::string tooltip(std::size_t i) const {
    const auto row = i / matrix_.columns.size(), column = i % matrix_.columns.size();
    return fmt::format(
        "{}{}: {}", matrix_.rows.name.empty() ? "" : escaped(matrix_.rows.labels[row]) + " → ",
        escaped(matrix_.columns.labels[column]),
        matrix_.kind == Matrix::Kind::mask ? "seen" : fmt::format("{:.4g}", matrix_.values[i]));
  }

  std::string paint_of(std::size_t i) const {
    if (!std::isfinite(matrix_.values[i])) return paint_of_mark();
    return matrix_.paints.empty() ? paint_of_place(matrix_.values[i] / look_.scale) : matrix_.paints[i];
  }

  /// Squares of size 1 that are stretched, in groups of one colour, between them lines of paper where there
  /// is room, and the numbers, in such groups as well.
  void add_cells(Drawing& drawing) const {
    std::map<std::string, Drawing> squares, numbers;
    for (std::size_t i = 0; i < matrix_.values.size(); ++i) {
      if (matrix_.values[i] == Matrix::hidden) continue;
      const auto row = i / matrix_.columns.size(), column = i % matrix_.columns.size();
      const auto paint = paint_of(i);
      squares[paint].elements +=
          fmt::format("<path d=\"M{} {}h1v1h-1\"><title>{}</title></path>\n", column, row, tooltip(i));
      if (!numbers_.empty())
        numbers[paint].text(x_of(column) + width_ / 2, y_of(row) + height_ / 2 + baseline * number_size_,
                            numbers_[i], Anchor::start, "", number_size_);
    }
    Drawing cells, words;
    for (const auto& [paint, drawings] : squares) cells.group(paint, drawings.elements);
    for (const auto& [paint, drawings] : numbers) words.group(paint, drawings.elements);
    const bool has_gaps = std::min(width_, height_) >= font_size;
    drawing.group(
        fmt::format("class=\"attn-cells\" {}transform=\"translate({} {}) scale({:.5g} {:.5g})\"",
                    has_gaps ? "" : "shape-rendering=\"crispEdges\" ", px(left_), px(top_), width_, height_),
        cells.elements);
    std::string gaps;
    for (std::size_t j = 1; has_gaps && j < matrix_.columns.size(); ++j)
      gaps += in_px("M{} {}v{}", x_of(j), top_, down_);
    for (std::size_t i = 1; has_gaps && i < matrix_.rows.size(); ++i)
      gaps += in_px("M{} {}h{}", left_, y_of(i), across_);
    drawing.path("gaps", gaps);
    drawing.group("class=\"attn-on\" text-anchor=\"middle\"", words.elements);
  }

  /// The same for many cells: each some pixels wide, so that none blurs, of no colour where it is hidden.
  void add_image(Drawing& drawing) const {
    constexpr std::uint8_t none = 0, mark = 1, middle = 2 + shade_steps;
    constexpr std::size_t fewest_pixels = 1000;
    const std::size_t rows = matrix_.rows.size(), columns = matrix_.columns.size();
    const std::size_t zoom = 1 + fewest_pixels / std::max(rows, columns);
    std::vector<std::uint8_t> pixels;
    for (std::size_t y = 0; y < rows * zoom; ++y)
      for (std::size_t column = 0; column < columns; ++column) {
        const double value = matrix_.values[y / zoom * columns + column];
        pixels.insert(pixels.end(), zoom,
                      value == Matrix::hidden ? none
                      : !std::isfinite(value)
                          ? mark
                          : static_cast<std::uint8_t>(middle + step_of(value / look_.scale)));
      }
    for (const auto theme : look_.themes) {
      std::vector<Colour> colours = {palette(theme).paper, palette(theme).mark};
      for (int step = -shade_steps; step <= shade_steps; ++step)
        colours.push_back(shade(theme, static_cast<double>(step) / shade_steps));
      drawing.elements +=
          in_px("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" ", left_, top_, across_, down_);
      drawing.elements += fmt::format(
          "class=\"attn-image-{}\" preserveAspectRatio=\"none\" "
          "href=\"data:image/png;base64,{}\"/>\n",
          theme == Theme::light ? "light" : "dark",
          html::base64(png(pixels, static_cast<std::uint32_t>(columns * zoom), colours)));
    }
    drawing.frame(left_, top_, across_, down_, "rule");
  }

  void add_mark(Drawing& drawing, const Mark& mark) const {
    const auto& [row, column, value, words, last_row] = mark;
    if (value) return;
    const double x = x_of(column.value_or(0)), y = y_of(row.value_or(0));
    const double width = column ? width_ : across_;
    const double height = row ? static_cast<double>(last_row.value_or(*row) - *row + 1) * height_ : down_;
    for (const auto* const line : {"halo", "frame"}) drawing.frame(x, y, width, height, line);
    if (row)
      drawing.text(left_ + across_ + gap_beside_mark, y + height / 2 + baseline * font_size, words,
                   Anchor::start, "mark");
    else
      drawing.text(x + width / 2, y + height + font_size + 5, words, Anchor::middle, "mark");
  }

  const Matrix& matrix_;
  const std::vector<Mark>& marks_;
  const Look& look_;
  Shown shown_;
  std::vector<std::string> numbers_{};                             ///< none where they are not shown
  double width_ = 0.0, height_ = 0.0, across_ = 0.0, down_ = 0.0;  ///< of a cell, and of all
  double left_ = 0.0, top_ = 0.0, right_ = 0.0, below_ = 0.0;      ///< what stands around them
  double row_size_ = 0.0, column_size_ = 0.0, number_size_ = 0.0;  ///< of letters
  double rotation_ = 0.0;  ///< of words that are wider than their columns
};

void add_colour_bar(Drawing& drawing, const Look& look) {
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
  drawing.group("shape-rendering=\"crispEdges\"", shades.elements);
  drawing.text(0, font_size - 1, first);
  drawing.text(left + length + 6, font_size - 1, last);
  drawing.width = left + length + 6 + text_width(last);
  drawing.height = thickness + 4;
}

/// A square with that paint, or hatched without one, and what it means, right of what is there.
void add_entry(Drawing& drawing, const std::string& paint, const std::string& words) {
  constexpr double side = 14.0;
  Drawing entry;
  if (paint.empty()) add_hatching(entry, 0, 0, side, side);
  if (!paint.empty()) entry.rectangle(0, 0, side, side, paint);
  entry.frame(0, 0, side, side, "rule");
  entry.text(side + 6, font_size - 1, words);
  entry.width = side + 6 + text_width(words);
  entry.height = side + 4;
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
    for (const double value : matrix.values) {
      has_hidden = has_hidden || value == Matrix::hidden;
      has_nan = has_nan || std::isnan(value);
    }
    for (std::size_t i = 0; i < matrix.words.size(); ++i)
      if (!matrix.words[i].empty()) parts[matrix.words[i]] = matrix.paints[i];
  }
  Drawing drawing;
  if (kind == Matrix::Kind::mask)
    add_entry(drawing, paint_of_place(1.0), "may be seen");
  else if (!have_one_scale)
    drawing = lines_of_text("Darkest: the largest number of the table.", 600, font_size, "muted");
  else if (has_colours && panels[0]->matrix()->paints.empty())
    add_colour_bar(drawing, look);
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
  return HeatmapDrawing(panel, room).beside();
}

Drawing draw_heatmap(const Panel& panel, const Room& room, const Shown& shown) {
  return HeatmapDrawing(panel, room, shown).draw();
}

}  // namespace

const Kind heatmap{"heatmap", wish_of_heatmap, draw_heatmap, beside_heatmap, legend_of_heatmap};
const Kind together{"together", wish_of_heatmap, draw_heatmap};

bool can_have_numbers(const Matrix& matrix) {
  return matrix.values.size() <= most_rectangles && matrix.kind != Matrix::Kind::mask;
}

const Kind* kind_named(std::string_view name) {
  for (const auto* kind : {&heatmap, &together, &stacks, &colours, &bar_palette, &arcs, &bars, &lines, &flow})
    if (kind->name == name) return kind;
  return nullptr;
}

std::vector<std::string> short_numbers(const Matrix& matrix) {
  if (!matrix.words.empty()) return matrix.words;
  const bool is_whole = std::all_of(matrix.values.begin(), matrix.values.end(),
                                    [](double v) { return !std::isfinite(v) || v == std::round(v); });
  const bool are_shares = matrix.kind == Matrix::Kind::shares;
  const double largest = matrix.largest();
  const int digits = is_whole || largest >= 100.0 ? 0
                     : are_shares                 ? 2
                     : largest >= 10.0            ? 1
                                       : std::max(2, 1 - static_cast<int>(std::floor(std::log10(largest))));
  std::vector<std::string> numbers;
  for (const double value : matrix.values) {
    auto number = with_minus_sign(fmt::format("{:.{}f}", value, digits));
    const bool is_nothing = number.find_first_not_of("−0.") == number.npos;
    if (is_nothing) number = value == 0.0 && !are_shares ? "0" : "";
    if (!std::isfinite(value)) number = std::isnan(value) ? "nan" : value == Matrix::hidden ? "" : "∞";
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace attn::svg

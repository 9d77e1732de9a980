#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/text/width.hpp"
#include "page/html/markup.hpp"
#include "page/svg/grid.hpp"
#include "page/svg/panel.hpp"
#include "page/svg/png.hpp"

namespace attn::svg {

double Matrix::largest() const {
  double largest = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && !hidden[i]) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

bool Matrix::has_negative() const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && !hidden[i] && values[i] < 0.0) return true;
  return false;
}

namespace {

constexpr double widest_cell = 130.0, highest_cell = 80.0, usual_cell = 46.0, largest_letters = 18.0,
                 fewest_pixels = 1000.0, longest_side = 600.0;
constexpr double widest_overhang = 20.0;  // which a gap or a margin has room for
constexpr std::size_t most_rectangles = 1600, most_readable_numbers = 300, longest_label = 32;

/// The names of the entries along an axis, and where they stand.
class Labels {
 public:
  Labels(const Axis& axis, bool are_of_columns) : axis_(axis) {
    are_indices_ = !axis.labels.empty() && axis.labels.front() == "0" &&
                   axis.labels.back() == fmt::format("{}", axis.size() - 1);
    for (std::size_t i = 0; i < axis.size(); ++i) widest_ = std::max(widest_, text_width(of(i)));
    if (are_indices_ && are_of_columns) needed_ = std::max(needed_, widest_ + 4);  // which are not turned
  }

  double widest() const { return widest_; }
  double last() const { return text_width(of(axis_.size() - 1)); }

  /// So large that they fill a cell of that size; turned, or where not each has one, as usual.
  double letters(double width, double height) const {
    const double size = std::min(baseline * height, font_size * width / std::max(widest_ + 4, 1.0));
    return step(height) > 1 ? font_size : std::clamp(size, font_size, largest_letters);
  }

  /// Each has a label where there is a line's room; else every tenth, say, has its index.
  std::size_t step(double cell) const {
    constexpr std::size_t most_indices = 16;
    if (cell >= needed_ && !(are_indices_ && axis_.size() > most_indices)) return 1;
    for (std::size_t power = 1;; power *= 10)
      for (const std::size_t digit : {1, 2, 5})
        if (static_cast<double>(digit * power) * cell >= 3 * font_size) return digit * power;
  }

  bool lacks_words(double cell) const { return !are_indices_ && step(cell) > 1; }

  std::string at(std::size_t i, double cell) const { return step(cell) == 1 ? of(i) : fmt::format("{}", i); }

 private:
  std::string of(std::size_t i) const { return shorten(axis_.labels[i], longest_label); }

  const Axis& axis_;
  bool are_indices_ = false;
  double widest_ = 0.0, needed_ = font_size;  ///< of the labels; of a cell that has one
};

std::string path(const std::string& lines, std::string_view style = "rule") {
  return lines.empty() ? "" : fmt::format("<path d=\"{}\" class=\"attn-{}\"/>\n", lines, style);
}

/// Lines from the lower left to the upper right across a cell.
std::string hatching(double x, double y, double width, double height) {
  std::string lines;
  const auto line = [&](double x1, double y1, double x2, double y2) {
    lines += fmt::format("M{} {}L{} {}", px(x + x1 * width), px(y + y1 * height), px(x + x2 * width),
                         px(y + y2 * height));
  };
  if (std::min(width, height) >= 20.0) line(0, 0.5, 0.5, 0);
  line(0, 1, 1, 0);
  lines += fmt::format("M{} {}h{}v{}h{}z", px(x), px(y), px(width), px(height), px(-width));
  if (std::min(width, height) >= 20.0) line(0.5, 1, 1, 0.5);
  return lines;
}

/// Where a cell has no room for "nan".
std::string cross(double x, double y, double width, double height) {
  return fmt::format("M{0} {1}L{2} {3}M{0} {3}L{2} {1}", px(x + 0.2 * width), px(y + 0.2 * height),
                     px(x + 0.8 * width), px(y + 0.8 * height));
}

/// "0.31" as ".31".
std::string without_nought(const std::string& number) {
  return number.starts_with("0.") ? number.substr(1) : number == "1.00" ? "1" : number;
}

class HeatmapDrawing {
 public:
  HeatmapDrawing(const Panel& panel, const Look& look, const Room& room, const Shown& shown = {})
      : matrix_(std::get<Matrix>(panel.content)), marks_(panel.marks), look_(look), shown_(shown) {
    if (look.has_own_scales)
      look_.scale = matrix_.kind == Matrix::Kind::numbers && matrix_.largest() > 0.0
                        ? round_up(matrix_.largest())
                        : 1.0;
    choose_cells(room);
  }

  Room beside() const { return {left() + right(), top() + below()}; }

  Drawing draw() {
    choose_numbers();
    const bool is_image = matrix_.values.size() > most_rectangles && can_pack;
    return {labels() + (is_image ? image() : cells()) + marks(),
            left() + columns() * width_ + right(),
            top() + rows() * height_ + below() + 2.0,
            left(),
            (shown_.columns && column_labels_.lacks_words(width_)) ||
                (has_rows() && row_labels_.lacks_words(height_)),
            numbers_.empty()};
  }

 private:
  double rows() const { return static_cast<double>(matrix_.rows.size()); }
  double columns() const { return static_cast<double>(matrix_.columns.size()); }
  bool has_rows() const { return !matrix_.rows.name.empty() && shown_.rows; }

  /// Nearly squares, unless one side has much more room: of many words squares.
  void choose_cells(const Room& room) {
    constexpr double most_words = 24.0;
    const bool is_long = columns() >= 2 * rows() || rows() >= 2 * columns();
    const double wide = std::max(room.width / columns(), 0.5);
    const double high = std::max(room.height / rows(), 0.5);
    const double side = std::min(wide, high);
    const double stretch = std::max(rows(), columns()) > most_words ? (is_long ? 2.5 : 1.0)
                           : is_long                                ? 3.0
                                                                    : 2.0;
    width_ = std::min({wide, widest_cell, stretch * side});
    height_ = std::min({high, highest_cell, stretch * side});
  }

  /// Where they are readable, or asked for: then the cells grow.
  void choose_numbers() {
    if (!can_have_numbers(matrix_)) return;
    const auto widest_of = [](const std::vector<std::string>& numbers) {
      double widest = 0.0;
      for (const auto& number : numbers) widest = std::max(widest, text_width(number));
      return widest;
    };
    auto numbers = short_numbers(matrix_);
    double widest = widest_of(numbers);
    if (matrix_.kind == Matrix::Kind::shares && widest > width_) {
      for (auto& number : numbers) number = without_nought(number);
      widest = widest_of(numbers);
    }
    if (look_.numbers == true) {
      width_ = std::max(width_, widest + 6);
      height_ = std::max(height_, font_size + 7);
    }
    const bool are_readable = widest <= width_ && font_size + 4 <= height_;
    if (look_.numbers.value_or(are_readable && numbers.size() <= most_readable_numbers))
      numbers_ = std::move(numbers);
    const double filling = std::min(baseline * height_, font_size * (width_ - 8) / std::max(widest, 1.0));
    number_size_ = std::clamp(filling, font_size, largest_letters);
  }

  double left() const {
    if (!has_rows()) return 0.0;
    const double labels = row_labels_.step(height_) == 1
                              ? bold * row_labels_.widest() * row_size() / font_size
                              : text_width(fmt::format("{}", rows()));
    return font_size + 10 + std::max(labels, text_width(name_of_columns())) + 8;
  }

  double row_size() const { return row_labels_.letters(INFINITY, height_); }
  double column_size() const { return turned() == 0.0 ? column_labels_.letters(width_, width_) : font_size; }

  /// In the corner where rows have labels, else above the columns.
  std::string name_of_columns() const {
    return matrix_.columns.name + (matrix_.rows.name.empty() ? "" : " →");
  }

  bool is_marked(std::size_t row) const {
    return std::any_of(marks_.begin(), marks_.end(), [&](const Mark& mark) {
      return mark.row == row && !mark.column && mark.last_row.value_or(row) == row;
    });
  }

  /// Words that are wider than their columns are turned: upright only where lines aslant would touch.
  double turned() const {
    const double widest = column_labels_.widest();
    if (column_labels_.step(width_) > 1 || widest <= 1.03 * width_) return 0.0;
    return width_ >= 1.4 * font_size ? -45.0 : -90.0;
  }

  /// What is said beside the rows that are pointed at, and below the columns.
  double right() const {
    double widest = shown_.columns && turned() == -45.0
                        ? std::max(0.0, 0.71 * column_labels_.last() + 10 - width_ / 2 - widest_overhang)
                        : 0.0;
    for (const auto& mark : marks_)
      if (mark.row && !mark.words.empty()) widest = std::max(widest, bold * text_width(mark.words) + 9);
    return widest;
  }

  double below() const {
    return std::any_of(marks_.begin(), marks_.end(),
                       [](const Mark& mark) { return !mark.row && !mark.words.empty(); })
               ? font_size + 8
               : 0.0;
  }

  std::string marks() const {
    std::string elements;
    for (const auto& [row, column, value, words, last_row] : marks_) {
      if (value) continue;
      const double x = left() + (column ? static_cast<double>(*column) * width_ : 0.0);
      const double y = top() + (row ? static_cast<double>(*row) * height_ : 0.0);
      const double width = column ? width_ : columns() * width_;
      const double height =
          row ? static_cast<double>(last_row.value_or(*row) - *row + 1) * height_ : rows() * height_;
      elements += frame(x, y, width, height);
      elements += row ? text(left() + columns() * width_ + 9, y + height / 2 + baseline * font_size, words,
                             Anchor::start, "mark")
                      : text(x + width / 2, y + height + font_size + 5, words, Anchor::middle, "mark");
    }
    return elements;
  }

  double top() const {
    if (!shown_.columns) return 0.0;
    const double widest = column_labels_.widest();
    const double room = turned() == 0.0     ? column_size() + 8
                        : turned() == -90.0 ? widest + 10
                                            : 0.71 * widest + 16;
    return (matrix_.rows.name.empty() ? font_size + 8 : 0.0) + room;
  }

  std::string labels() const {
    return (shown_.columns ? labels_of_columns() : "") + (has_rows() ? labels_of_rows() : "");
  }

  std::string labels_of_columns() const {
    const bool is_above = matrix_.rows.name.empty();
    auto elements = !is_above && !has_rows() ? ""
                    : is_above ? text(left() + columns() * width_ / 2, font_size, name_of_columns(),
                                      Anchor::middle, "muted")
                               : text(left() - 8, top() - 7, name_of_columns(), Anchor::end, "muted");
    std::string ticks;
    const std::size_t step = column_labels_.step(width_);
    for (std::size_t j = 0; j < matrix_.columns.size(); j += step) {
      const double x = left() + (static_cast<double>(j) + 0.5) * width_;
      elements +=
          text(turned() == -90.0 ? x + baseline * font_size : x, top() - 7, column_labels_.at(j, width_),
               turned() == 0.0 ? Anchor::middle : Anchor::start, "label", turned(), column_size());
      if (step > 1) ticks += fmt::format("M{} {}v5", px(x), px(top() - 6));
    }
    return elements + path(ticks);
  }

  /// The name of the axis beside the labels, upwards.
  std::string labels_of_rows() const {
    auto elements =
        text(font_size, top() + rows() * height_ / 2, matrix_.rows.name, Anchor::middle, "muted", -90.0);
    std::string ticks;
    const std::size_t step = row_labels_.step(height_);
    for (std::size_t i = 0; i < matrix_.rows.size(); i += step) {
      const double y = top() + (static_cast<double>(i) + 0.5) * height_;
      elements += text(left() - 8, y + baseline * row_size(), row_labels_.at(i, height_), Anchor::end,
                       is_marked(i) ? "mark" : "label", 0.0, row_size());
      if (step > 1) ticks += fmt::format("M{} {}h5", px(left() - 6), px(y));
    }
    return elements + path(ticks);
  }

  Colour colour(std::size_t i) const {
    return matrix_.parts.empty() ? shade(look_.theme, matrix_.values[i] / look_.scale)
                                 : shade_of_part(look_.theme, matrix_.parts[i]);
  }

  /// "girls → saw: 0.1234".
  std::string tooltip(std::size_t i, std::size_t row, std::size_t column) const {
    return fmt::format(
        "<title>{}{}: {}</title>", matrix_.rows.name.empty() ? "" : escaped(matrix_.rows.labels[row]) + " → ",
        escaped(matrix_.columns.labels[column]),
        matrix_.kind == Matrix::Kind::mask ? "seen" : fmt::format("{:.4g}", matrix_.values[i]));
  }

  std::string cells() const {
    std::string elements, hatched, crossed, written;
    const double gap = std::min(width_, height_) >= font_size ? 1.0 : 0.0;
    for (std::size_t i = 0, row = 0; row < matrix_.rows.size(); ++row)
      for (std::size_t column = 0; column < matrix_.columns.size(); ++column, ++i) {
        const double x = left() + static_cast<double>(column) * width_;
        const double y = top() + static_cast<double>(row) * height_;
        const double width = width_ - gap, height = height_ - gap;
        const bool has_colour = !matrix_.hidden[i] && std::isfinite(matrix_.values[i]);
        const auto fill = has_colour ? colour(i) : palette(look_.theme).mark;
        if (has_colour) elements += rectangle(x, y, width, height, fill, tooltip(i, row, column));
        if (matrix_.hidden[i]) hatched += hatching(x, y, width, height);
        const bool is_infinite = !matrix_.hidden[i] && !has_colour;
        if (is_infinite) elements += rectangle(x, y, width, height, fill, tooltip(i, row, column));
        if (is_infinite && numbers_.empty()) crossed += cross(x, y, width, height);
        if (numbers_.empty() || numbers_[i].empty()) continue;
        const bool is_dark = ink_on(fill).red > 0.0;
        written += text(x + width / 2, y + height / 2 + baseline * number_size_, numbers_[i], Anchor::middle,
                        is_dark ? "on-dark" : "on-light", 0.0, number_size_);
      }
    return elements + path(hatched, "hatching") + path(crossed) + written;
  }

  /// The same for many cells: each some pixels wide, so that a hatching shows.
  std::string image() const {
    constexpr std::uint8_t paper = 0, rule = 1, middle = 127;
    constexpr int steps = 125;
    const auto zoom = static_cast<std::size_t>(std::ceil(fewest_pixels / std::max(rows(), columns())));
    const auto& [paper_colour, ink, muted, rule_colour, mark_colour] = palette(look_.theme);
    std::vector<Colour> colours = {paper_colour, rule_colour};
    for (int place = -steps; place <= steps; ++place)
      colours.push_back(shade(look_.theme, static_cast<double>(place) / steps));
    constexpr std::uint8_t hatched = 254, crossed = 255;  // no colours, but what stands for a pattern
    std::vector<std::uint8_t> codes;
    for (std::size_t i = 0; i < matrix_.values.size(); ++i)
      codes.push_back(
          matrix_.hidden[i] ? hatched
          : std::isnan(matrix_.values[i])
              ? crossed
              : static_cast<std::uint8_t>(
                    middle + std::lround(std::clamp(matrix_.values[i] / look_.scale, -1.0, 1.0) * steps)));
    const std::size_t width = matrix_.columns.size() * zoom;
    std::vector<std::uint8_t> pixels;
    pixels.reserve(matrix_.rows.size() * zoom * width);
    for (std::size_t y = 0; y < matrix_.rows.size() * zoom; ++y)
      for (std::size_t x = 0; x < width; ++x) {
        const auto code = codes[y / zoom * matrix_.columns.size() + x / zoom];
        const bool is_line = (x + y) % 6 == 0 || (code == crossed && (x + 6 - y % 6) % 6 == 0);
        pixels.push_back(code < hatched ? code : is_line ? rule : paper);
      }
    return fmt::format(
               "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
               "href=\"data:image/png;base64,{}\"/>\n",
               px(left()), px(top()), px(columns() * width_), px(rows() * height_),
               html::base64(png(pixels, static_cast<std::uint32_t>(width), colours))) +
           fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"attn-rule\"/>\n",
                       px(left()), px(top()), px(columns() * width_), px(rows() * height_));
  }

  const Matrix& matrix_;
  const std::vector<Mark>& marks_;
  Look look_;
  Shown shown_;
  Labels row_labels_{matrix_.rows, false}, column_labels_{matrix_.columns, true};
  std::vector<std::string> numbers_;   ///< none where they are not shown
  double width_ = 0.0, height_ = 0.0;  ///< of a cell
  double number_size_ = font_size;
};

Drawing colour_bar(const Look& look) {
  constexpr double length = 120.0, thickness = 14.0;
  constexpr int steps = 40;
  const double from = look.has_negative ? -1.0 : 0.0;
  const auto first = with_minus_sign(fmt::format("{:.4g}", from * look.scale));
  const auto last = fmt::format("{:.4g}{}", look.scale, look.scale < look.largest ? " and more" : "");
  const double left = text_width(first) + 6;
  auto elements = text(0, font_size - 1, first, Anchor::start, "label");
  elements += "<g shape-rendering=\"crispEdges\">\n";
  for (int i = 0; i < steps; ++i)
    elements += rectangle(left + i * length / steps, 0, length / steps + (i + 1 < steps ? 1 : 0), thickness,
                          shade(look.theme, from + (1 - from) * (i + 0.5) / steps));
  elements += "</g>\n" + text(left + length + 6, font_size - 1, last, Anchor::start, "label");
  return {elements, left + length + 6 + text_width(last), thickness + 4};
}

/// A square of that colour, hatched or crossed out, and what it means, behind what is there.
void add_entry(Drawing& drawing, const Colour& colour, std::string (*lines)(double, double, double, double),
               std::string_view words) {
  constexpr double side = 14.0;
  const double x = drawing.width + (drawing.width > 0.0 ? 22.0 : 0.0);
  drawing.elements += rectangle(x, 0, side, side, colour);
  drawing.elements += fmt::format("<rect x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\" class=\"attn-rule\"/>\n",
                                  px(x), px(side), px(side));
  if (lines != nullptr) drawing.elements += path(lines(x, 0, side, side));
  drawing.elements += text(x + side + 6, font_size - 1, words, Anchor::start, "label");
  drawing.width = x + side + 6 + text_width(words);
  drawing.height = std::max(drawing.height, side + 4);
}

/// Three lines and the shares that they stand for.
Drawing widths_of_arcs(const Matrix& matrix, const Look& look) {
  const double thickest = thickest_arc(matrix);
  Drawing drawing{"", 0, font_size + 6};
  for (const double place : {0.1, 0.5, 1.0}) {
    drawing.elements += fmt::format("<path d=\"M{} 8h34\" class=\"attn-arc\" {}/>\n", px(drawing.width),
                                    arc_style(usual_arc, place, thickest));
    const auto words = fmt::format("{:.2g}", place * look.scale);
    drawing.elements += text(drawing.width + 40, font_size, words, Anchor::start, "label");
    drawing.width += 58 + text_width(words);
  }
  const auto remark = remark_on_arcs(matrix, look);
  drawing.elements += text(drawing.width, font_size, remark, Anchor::start, "muted");
  drawing.width += text_width(remark);
  return drawing;
}

Room wish_of_heatmap(const Panel& panel) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto of = [](const Axis& axis) {
    return std::min(static_cast<double>(axis.size()) * usual_cell, longest_side);
  };
  return {of(matrix.columns), of(matrix.rows)};
}

Room beside_heatmap(const Panel& panel, const Room& room) {
  return HeatmapDrawing(panel, Look(), room).beside();
}

Drawing draw_heatmap(const Panel& panel, const Look& look, const Room& room, const Shown& shown) {
  return HeatmapDrawing(panel, look, room, shown).draw();
}

}  // namespace

const Kind heatmap{"heatmap", wish_of_heatmap, beside_heatmap, draw_heatmap};

Drawing legend(const Kind& kind, const Matrix& one, const Look& look, const Needs& needs) {
  Drawing drawing;
  if (&kind == &arcs) return widths_of_arcs(one, look);
  if (&kind != &heatmap) return drawing;
  const auto& paper = palette(look.theme).paper;
  if (one.kind == Matrix::Kind::mask)
    add_entry(drawing, shade(look.theme, 1.0), nullptr, "may be seen");
  else if (needs.colours && !one.parts.empty())
    for (std::size_t part = 0; part < one.part_names.size(); ++part)
      add_entry(drawing, shade_of_part(look.theme, part), nullptr, one.part_names[part]);
  else if (look.has_own_scales)
    drawing = lines_of_text("Each table has a scale of its own: its largest number is darkest.", 600,
                            font_size, "muted");
  else if (needs.colours)
    drawing = colour_bar(look);
  if (needs.hidden)
    add_entry(drawing, paper, hatching,
              one.kind == Matrix::Kind::numbers ? "no number here" : "hidden by a mask");
  if (needs.nan) add_entry(drawing, palette(look.theme).mark, cross, "nan: not a number");
  return drawing;
}

std::string frame(double x, double y, double width, double height) {
  std::string elements;
  for (const auto* const line : {"halo", "frame"})
    elements += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"attn-{}\"/>\n",
                            px(x - 0.5), px(y - 0.5), px(width), px(height), line);
  return elements;
}

bool can_have_numbers(const Matrix& matrix) {
  return matrix.values.size() <= most_rectangles && matrix.kind != Matrix::Kind::mask;
}

const Kind* kind_named(std::string_view name) {
  for (const auto* kind : {&heatmap, &stacks, &colours, &arcs, &bars, &lines, &flow})
    if (kind->name == name) return kind;
  return nullptr;
}

std::vector<std::string> short_numbers(const Matrix& matrix) {
  const bool is_whole = std::all_of(matrix.values.begin(), matrix.values.end(),
                                    [](double v) { return !std::isfinite(v) || v == std::round(v); });
  const bool are_shares = matrix.kind == Matrix::Kind::shares;
  bool has_nought = false;  // beside which an empty cell would look as if its number lacked
  for (std::size_t i = 0; i < matrix.values.size() && are_shares; ++i)
    has_nought = has_nought || (matrix.values[i] == 0.0 && !matrix.hidden[i]);
  const double largest = matrix.largest();
  const auto digits_of = [&](double value) {
    if (are_shares || (largest >= 0.1 && largest < 10.0)) return 2;
    if (largest < 0.1) return largest == 0.0 ? 0 : 1 - static_cast<int>(std::floor(std::log10(largest)));
    return value >= 100.0 ? 0 : value >= 10.0 || largest < 100.0 ? 1 : 2;
  };
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const double value = matrix.values[i];
    auto number = with_minus_sign(fmt::format("{:.{}f}", value, is_whole ? 0 : digits_of(std::abs(value))));
    const bool is_nothing = number.find_first_not_of("−0.") == number.npos;
    if (!std::isfinite(value)) number = std::isnan(value) ? "nan" : value < 0.0 ? "−∞" : "∞";
    if (is_nothing) number = value == 0.0 ? "0" : has_nought ? "≈ 0" : "";
    if (!matrix.parts.empty()) number = matrix.part_names[matrix.parts[i]];
    numbers.push_back(matrix.hidden[i] ? "" : number);
  }
  return numbers;
}

double round_up(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double digits : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (value <= digits * power * (1 + 1e-9)) return digits * power;
  return 10 * power;
}

}  // namespace attn::svg

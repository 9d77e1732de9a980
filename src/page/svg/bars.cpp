#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double bar_letters = 16.0;  // of names and numbers
constexpr std::size_t shown_of_many = 12;
constexpr double above_bars = font_size + 10, below_bars = font_size + 8;
constexpr double usual_column = 40.0, widest_column = 90.0, usual_bar_height = 150.0;
constexpr double longest_bar = 640.0, gap_beside_bar = 8.0, usual_stack = 54.0;  // of stacks

struct Bar {
  std::string name, number;
  double value;
  std::string paint;
  bool is_marked = false;
};

/// Of many the largest, in size.
std::vector<Bar> bars_of(const Panel& panel) {
  const auto& matrix = *panel.matrix();
  const auto numbers = short_numbers(matrix);
  std::vector<Bar> all;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const double value = std::isfinite(matrix.values[i]) ? matrix.values[i] : 0.0;
    const auto number = matrix.values[i] == Matrix::hidden    ? "hidden"
                        : !numbers[i].empty()                 ? numbers[i]
                        : matrix.kind == Matrix::Kind::shares ? "< 0.005"
                                                              : with_minus_sign(fmt::format("{:.1g}", value));
    all.push_back({matrix.columns.labels[i], number, value,
                   matrix.paints.empty() ? paint_of_place(value < 0.0 ? -0.7 : 0.7) : matrix.paints[i]});
  }
  for (const auto& mark : panel.marks) {
    if (!mark.column) continue;
    auto& bar = all[*mark.column];
    bar.is_marked = true;
    if (matrix.paints.empty()) bar.paint = paint_of_mark();
    if (!mark.words.empty()) bar.number = mark.words;
  }
  if (all.size() <= most_bars) return all;
  std::stable_sort(all.begin(), all.end(),
                   [](const Bar& a, const Bar& b) { return std::abs(a.value) > std::abs(b.value); });
  all.resize(shown_of_many);
  return all;
}

double widest_bar_name(const std::vector<Bar>& bars) {
  double widest = 0.0;
  for (const auto& bar : bars) widest = std::max(widest, bold * text_width(bar.name, bar_letters));
  return widest;
}

Room wish_of_bars(const Panel& panel) {
  const auto bars = bars_of(panel);
  const double column = std::clamp(widest_bar_name(bars) + 8, usual_column, widest_column);
  return {static_cast<double>(bars.size()) * column, above_bars + usual_bar_height + below_bars};
}

/// Names that are wider than their columns are turned; a number that is, is left out.
Drawing draw_bars(const Panel& panel, const Room& room, const Shown&) {
  const auto& look = panel.look;
  const auto bars = bars_of(panel);
  const auto count = static_cast<double>(bars.size());
  const double column = std::clamp(room.width / count, bar_letters, widest_column);
  const double usual_name = widest_bar_name(bars) + 4;
  const double name_letters = usual_name <= column ? bar_letters : font_size;
  const double widest_name = usual_name * name_letters / bar_letters;
  const bool are_turned = widest_name > column;
  const double below = are_turned ? 0.71 * widest_name + bar_letters : below_bars;
  const double height = std::max(room.height - above_bars - below, 60.0), bottom = above_bars + height;
  const double zero = look.has_negative ? bottom - height / 2 : bottom;
  const double unit = (zero - above_bars) / look.scale;
  Drawing drawing{"", count * column, bottom + below};
  if (const auto all = panel.matrix()->values.size(); all > bars.size())
    drawing.text(drawing.width, font_size, fmt::format("the {} largest of {}", bars.size(), all), Anchor::end,
                 "muted");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, number, value, paint, is_marked] = bars[i];
    const double size = std::min(std::abs(value), look.scale) * unit, y = value < 0.0 ? zero : zero - size;
    const double x = (static_cast<double>(i) + 0.5) * column;
    const auto* const style = is_marked ? "mark" : "";
    drawing.rectangle(x - 0.36 * column, y, 0.72 * column, size, paint);
    const double letters = text_width(number, bar_letters) <= column ? bar_letters : font_size;
    if (text_width(number, letters) <= column)
      drawing.text(x, value < 0.0 ? y + size + letters : y - 5, number, Anchor::middle, style, letters);
    drawing.text(x, bottom + bar_letters + 2, name, are_turned ? Anchor::end : Anchor::middle, style,
                 name_letters, are_turned ? -45.0 : 0.0);
  }
  drawing.path("rule", in_px("M0 {}h{}", zero, drawing.width));
  return drawing;
}

double top_of_stacks(const Matrix& matrix) {
  return matrix.columns.name.empty() ? 0.0 : above_bars;
}

double left_of_stacks(const Matrix& matrix) {
  const double left = std::max(bold * widest(matrix.rows.labels, bar_letters), widest(matrix.row_remarks));
  return left > 0.0 ? left + gap_beside_bar : 0.0;
}

Room wish_of_stacks(const Panel& panel) {
  const auto& matrix = *panel.matrix();
  return {longest_bar, top_of_stacks(matrix) + static_cast<double>(matrix.rows.size()) * usual_stack};
}

/// The names of the columns stand above the first bar, each where its part of it begins or right of the one
/// before; a part that is pointed at is dark.
Drawing draw_stacks(const Panel& panel, const Room& room, const Shown&) {
  const auto& matrix = *panel.matrix();
  const auto numbers = short_numbers(matrix);
  const std::size_t columns = matrix.columns.size();
  const auto rows = static_cast<double>(matrix.rows.size());
  const double left = left_of_stacks(matrix), top = top_of_stacks(matrix);
  const double length = std::max(room.width - left, 60.0);
  const double row = std::max((room.height - top) / rows, 2.4 * font_size), height = 0.66 * row;
  Drawing drawing{"", 0, top + rows * row, left};
  double x = left, free_from = left;
  for (std::size_t cell = 0; cell < matrix.values.size(); ++cell) {
    const std::size_t i = cell / columns, j = cell % columns;
    const double y = top + static_cast<double>(i) * row, middle = y + height / 2;
    if (j == 0) {
      x = left;
      const auto& words = matrix.row_remarks.empty() ? "" : matrix.row_remarks[i];
      drawing.text(left - gap_beside_bar, middle + (words.empty() ? baseline * bar_letters : -2.0),
                   matrix.rows.labels[i], Anchor::end, "caption");
      drawing.text(left - gap_beside_bar, middle + font_size, words, Anchor::end, "muted");
    }
    const bool is_marked = std::any_of(panel.marks.begin(), panel.marks.end(),
                                       [&](const Mark& mark) { return mark.row == i && mark.column == j; });
    const double share = std::isfinite(matrix.values[cell]) ? matrix.values[cell] : 0.0;
    const double width = share * length, place = static_cast<double>(j) / static_cast<double>(columns);
    const auto paint = is_marked               ? paint_of_place(0.85)
                       : matrix.paints.empty() ? paint_of_place(0.1 + 0.55 * place)
                                               : matrix.paints[cell];
    Drawing part;
    part.rectangle(x, y, width, height, "");
    if (text_width(numbers[cell], bar_letters) <= width)
      part.text(x + width / 2, middle + baseline * bar_letters, numbers[cell], Anchor::middle, "on",
                bar_letters);
    drawing.group(paint, part.elements);
    if (i == 0) {
      const auto& name = matrix.columns.labels[j];
      const double half = text_width(name, bar_letters) / 2;
      const double centre = std::max(x + width / 2, free_from + half);
      drawing.text(centre, top - 8, name, Anchor::middle, "", bar_letters);
      free_from = centre + half + gap_beside_bar;
    }
    x += width;
  }
  drawing.width = std::max(left + length, free_from);
  return drawing;
}

}  // namespace

const Kind bars{"bars", wish_of_bars, draw_bars};
const Kind stacks{"stacks", wish_of_stacks, draw_stacks};
const Kind colours{"colours", wish_of_stacks, draw_stacks};
const Kind bar_palette{"palette", wish_of_stacks, draw_stacks};

}  // namespace attn::svg

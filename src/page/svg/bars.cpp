#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/text/width.hpp"
#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double bar_letters = 16.0;  // of names and numbers
constexpr std::size_t shown_of_many = 12, longest_name = 24;
constexpr double above_bars = font_size + 10, below_bars = font_size + 8;
constexpr double usual_column = 40.0, widest_column = 90.0, usual_bar_height = 150.0;
constexpr double longest_bar = 640.0, gap_beside_bar = 8.0;  // of stacks

struct Bar {
  std::string name, number;
  double value;
  std::optional<Colour> colour{};
  bool is_marked = false;
};

std::string small_number(const Matrix& matrix, std::size_t i) {
  return matrix.kind == Matrix::Kind::shares ? "< 0.005"
                                             : with_minus_sign(fmt::format("{:.1g}", matrix.values[i]));
}

/// Of many the largest, in size.
std::vector<Bar> bars_of(const Panel& panel) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto numbers = short_numbers(matrix);
  std::vector<Bar> all;
  for (std::size_t i = 0; i < matrix.values.size(); ++i)
    all.push_back({shorten(matrix.columns.labels[i], longest_name),
                   matrix.hidden[i]     ? "hidden"
                   : numbers[i].empty() ? small_number(matrix, i)
                                        : numbers[i],
                   matrix.hidden[i] || !std::isfinite(matrix.values[i]) ? 0.0 : matrix.values[i],
                   matrix.colours.empty() ? std::nullopt : std::optional(matrix.colours[i])});
  for (const auto& mark : panel.marks) {
    if (!mark.column) continue;
    all[*mark.column].is_marked = true;
    if (!mark.words.empty()) all[*mark.column].number = mark.words;
  }
  if (all.size() <= most_bars) return all;
  std::stable_sort(all.begin(), all.end(),
                   [](const Bar& a, const Bar& b) { return std::abs(a.value) > std::abs(b.value); });
  all.resize(shown_of_many);
  return all;
}

std::string remark_of(const Matrix& matrix) {
  return matrix.values.size() <= most_bars
             ? ""
             : fmt::format("the {} largest of {}", shown_of_many, matrix.values.size());
}

double widest(const std::vector<Bar>& bars, std::string Bar::*text) {
  double widest = 0.0;
  for (const auto& bar : bars) widest = std::max(widest, bold * text_width(bar.*text, bar_letters));
  return widest;
}

Room wish_of_bars(const Panel& panel) {
  const auto bars = bars_of(panel);
  const double column = std::clamp(widest(bars, &Bar::name) + 8, usual_column, widest_column);
  return {static_cast<double>(bars.size()) * column, above_bars + usual_bar_height + below_bars};
}

Colour colour_of(const Bar& bar, const Matrix& matrix, const Look& look) {
  return bar.colour      ? *bar.colour
         : bar.is_marked ? palette(look.theme).mark
         : matrix.line   ? line_colour(look.theme, *matrix.line)
                         : shade(look.theme, bar.value < 0.0 ? -0.7 : 0.7);
}

/// Names that are wider than their columns are turned; a number that is, is left out.
Drawing draw_bars(const Panel& panel, const Look& look, const Room& room, const Shown&) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto bars = bars_of(panel);
  const auto count = static_cast<double>(bars.size());
  const double column = std::clamp(room.width / count, bar_letters, widest_column), width = count * column;
  const double usual_name = widest(bars, &Bar::name) + 4;
  const double name_letters = usual_name <= column ? bar_letters : font_size;
  const double widest_name = usual_name * name_letters / bar_letters;
  const bool are_turned = widest_name > column;
  const double below = are_turned ? 0.71 * widest_name + bar_letters : below_bars;
  const double top = above_bars, height = std::max(room.height - top - below, 60.0);
  const double zero = top + (look.has_negative ? height / 2 : height), unit = (zero - top) / look.scale;
  auto elements = text(width, font_size, remark_of(matrix), Anchor::end, "muted");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& bar = bars[i];
    const auto* const style = bar.is_marked ? "mark" : "label";
    const double size = std::min(std::abs(bar.value), look.scale) * unit;
    const double x = (static_cast<double>(i) + 0.5) * column, y = bar.value < 0.0 ? zero : zero - size;
    elements += rectangle(x - 0.36 * column, y, 0.72 * column, size, colour_of(bar, matrix, look));
    const double letters = text_width(bar.number, bar_letters) <= column ? bar_letters : font_size;
    if (text_width(bar.number, letters) <= column)
      elements += text(x, bar.value < 0.0 ? y + size + letters : y - 5, bar.number, Anchor::middle, style,
                       0.0, letters);
    elements += text(x, top + height + bar_letters + 2, bar.name, are_turned ? Anchor::end : Anchor::middle,
                     style, are_turned ? -45.0 : 0.0, name_letters);
  }
  elements += fmt::format("<path d=\"M0 {}h{}\" class=\"attn-rule\"/>\n", px(zero), px(width));
  return {elements, width, top + height + below, 0.0};
}

constexpr double usual_stack = 54.0, thickness_of_stack = 0.66;

double widest_name(const Matrix& matrix) {
  double widest = 0.0;
  for (const auto& name : matrix.rows.labels) widest = std::max(widest, bold * text_width(name, bar_letters));
  for (const auto& words : matrix.part_names) widest = std::max(widest, text_width(words));
  return widest + gap_beside_bar;
}

Room wish_of_stacks(const Panel& panel) {
  const auto rows = static_cast<double>(std::get<Matrix>(panel.content).rows.size());
  return {longest_bar, above_bars + rows * usual_stack};
}

/// The names of the columns stand above the first bar, each where its part of it begins or right of the one
/// before; a part that is pointed at is dark.
Drawing draw_stacks(const Panel& panel, const Look& look, const Room& room, const Shown&) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto numbers = short_numbers(matrix);
  const std::size_t columns = matrix.columns.size(), rows = matrix.rows.size();
  const double left = widest_name(matrix), top = above_bars;
  const double length = std::max(room.width - left, 120.0);
  const double row = std::max((room.height - top) / static_cast<double>(rows), 2.4 * font_size);
  std::string elements;
  double free_from = left;
  for (std::size_t i = 0; i < rows; ++i) {
    const double y = top + static_cast<double>(i) * row, height = thickness_of_stack * row;
    const double middle = y + height / 2;
    const auto& words = matrix.part_names[i];
    elements += text(left - gap_beside_bar, middle + (words.empty() ? baseline * bar_letters : -2.0),
                     matrix.rows.labels[i], Anchor::end, "caption");
    elements += text(left - gap_beside_bar, middle + font_size, words, Anchor::end, "muted");
    double x = left;
    for (std::size_t j = 0; j < columns; ++j) {
      const auto cell = i * columns + j;
      const bool is_marked = std::any_of(panel.marks.begin(), panel.marks.end(),
                                         [&](const Mark& mark) { return mark.row == i && mark.column == j; });
      const auto colour = shade(
          look.theme, is_marked ? 0.85 : 0.1 + 0.55 * static_cast<double>(j) / static_cast<double>(columns));
      const double width = std::isfinite(matrix.values[cell]) ? matrix.values[cell] * length : 0.0;
      const auto* const ink = ink_on(colour).red > 0.0 ? "on-dark" : "on-light";
      elements += rectangle(x, y, width, height, colour);
      if (text_width(numbers[cell], bar_letters) <= width)
        elements += text(x + width / 2, middle + baseline * bar_letters, numbers[cell], Anchor::middle, ink,
                         0.0, bar_letters);
      if (i == 0) {
        const double half = text_width(matrix.columns.labels[j], bar_letters) / 2;
        const double centre = std::max(x + width / 2, free_from + half);
        elements +=
            text(centre, top - 8, matrix.columns.labels[j], Anchor::middle, "label", 0.0, bar_letters);
        free_from = centre + half + gap_beside_bar;
      }
      x += width;
    }
  }
  return {elements, std::max(left + length, free_from), top + static_cast<double>(rows) * row, left};
}

}  // namespace

const Kind stacks{"stacks", wish_of_stacks, nothing_beside, draw_stacks};
const Kind bars{"bars", wish_of_bars, nothing_beside, draw_bars};

}  // namespace attn::svg

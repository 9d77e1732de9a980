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
constexpr double usual_bar = 40.0, highest_bar = 90.0, longest_bar = 640.0, gap_beside_bar = 8.0;

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
  return {96 + widest(bars, &Bar::number),
          above_bars + below_bars + static_cast<double>(bars.size()) * usual_bar};
}

Room beside_bars(const Panel& panel, const Room&) {
  return {widest(bars_of(panel), &Bar::name) + gap_beside_bar, 0.0};
}

Drawing draw_bars(const Panel& panel, const Look& look, const Room& room, const Shown& shown) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto bars = bars_of(panel);
  const double top = above_bars, left = shown.rows ? widest(bars, &Bar::name) + gap_beside_bar : 0.0;
  const double beside = widest(bars, &Bar::number) + gap_beside_bar;
  const double row = std::clamp((room.height - top - below_bars) / static_cast<double>(bars.size()),
                                bar_letters + 3, highest_bar);
  const double length = std::clamp(room.width - beside, 60.0, longest_bar);
  const double zero = look.has_negative ? left + beside + (length - beside) / 2 : left;
  const double unit = (look.has_negative ? (length - beside) / 2 : length) / look.scale;

  std::string elements;
  if (shown.rows) elements += text(left - gap_beside_bar, top - 8, matrix.columns.name, Anchor::end, "muted");
  if (const auto remark = remark_of(matrix); !remark.empty())
    elements += text(left + length, top - 8, remark, Anchor::end, "muted");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, number, value, own_colour, is_marked] = bars[i];
    const auto colour = own_colour  ? *own_colour
                        : is_marked ? palette(look.theme).mark
                                    : shade(look.theme, value < 0.0 ? -0.7 : 0.7);
    const double y = top + static_cast<double>(i) * row, size = std::min(std::abs(value), look.scale) * unit;
    const double start = value < 0.0 ? zero - size : zero, middle = y + row / 2 + baseline * bar_letters - 1;
    if (shown.rows)
      elements += text(left - gap_beside_bar, middle, name, Anchor::end, is_marked ? "mark" : "label", 0.0,
                       bar_letters);
    elements += rectangle(start, y + 2, size, row - 5, colour);
    elements +=
        text(value < 0.0 ? start - gap_beside_bar : start + size + gap_beside_bar, middle, number,
             value < 0.0 ? Anchor::end : Anchor::start, is_marked ? "mark" : "label", 0.0, bar_letters);
  }
  const double height = static_cast<double>(bars.size()) * row, one = zero + unit * look.scale;
  elements += fmt::format("<path d=\"M{0} {1}v{2}M{3} {4}v5\" class=\"attn-rule\"/>\n", px(zero), px(top),
                          px(height), px(one), px(top + height - 5));
  for (const auto& [x, end] : {std::pair(zero, 0.0), {one, look.scale}})
    elements += text(x, top + height + font_size + 3, fmt::format("{:.4g}", end), Anchor::middle, "muted");
  return {elements, left + length + beside, top + height + below_bars, left};
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
          look.theme, is_marked ? 0.85 : 0.16 + 0.3 * static_cast<double>(j) / static_cast<double>(columns));
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
const Kind bars{"bars", wish_of_bars, beside_bars, draw_bars};

}  // namespace attn::svg

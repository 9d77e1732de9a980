#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/text/width.hpp"
#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr std::size_t shown_of_many = 12, longest_name = 24;
constexpr double above_bars = font_size + 10, below_bars = font_size + 8;
constexpr double usual_bar = 40.0, highest_bar = 64.0, longest_bar = 480.0, gap_beside_bar = 8.0;

struct Bar {
  std::string name, number;
  double value;
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
                   matrix.hidden[i] || !std::isfinite(matrix.values[i]) ? 0.0 : matrix.values[i]});
  for (const auto& [row, column, value, words] : panel.marks) {
    if (!column) continue;
    all[*column].is_marked = true;
    if (!words.empty()) all[*column].number = words;
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
  for (const auto& bar : bars) widest = std::max(widest, bold * text_width(bar.*text));
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
                                font_size + 3, highest_bar);
  const double length = std::clamp(room.width - beside, 60.0, longest_bar);
  const double zero = look.has_negative ? left + beside + (length - beside) / 2 : left;
  const double unit = (look.has_negative ? (length - beside) / 2 : length) / look.scale;

  std::string elements;
  if (shown.rows) elements += text(left - gap_beside_bar, top - 8, matrix.columns.name, Anchor::end, "muted");
  if (const auto remark = remark_of(matrix); !remark.empty())
    elements += text(left + length, top - 8, remark, Anchor::end, "muted");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, number, value, is_marked] = bars[i];
    const auto colour = is_marked ? palette(look.theme).mark : shade(look.theme, value < 0.0 ? -0.7 : 0.7);
    const double y = top + static_cast<double>(i) * row, size = std::min(std::abs(value), look.scale) * unit;
    const double start = value < 0.0 ? zero - size : zero, middle = y + row / 2 + 0.36 * font_size - 1;
    if (shown.rows) elements += text(left - gap_beside_bar, middle, name, Anchor::end, "label");
    elements += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", px(start),
                            px(y + 2), px(size), px(row - 5), hex(colour));
    elements += text(value < 0.0 ? start - gap_beside_bar : start + size + gap_beside_bar, middle, number,
                     value < 0.0 ? Anchor::end : Anchor::start, is_marked ? "mark" : "label");
  }
  const double height = static_cast<double>(bars.size()) * row, one = zero + unit * look.scale;
  elements += fmt::format("<path d=\"M{0} {1}v{2}M{3} {4}v5\" class=\"attn-rule\"/>\n", px(zero), px(top),
                          px(height), px(one), px(top + height - 5));
  for (const auto& [x, end] : {std::pair(zero, 0.0), {one, look.scale}})
    elements += text(x, top + height + font_size + 3, fmt::format("{:.4g}", end), Anchor::middle, "muted");
  return {elements, left + length + beside, top + height + below_bars, left};
}

}  // namespace

const Kind bars{"bars", wish_of_bars, beside_bars, draw_bars};

}  // namespace attn::svg

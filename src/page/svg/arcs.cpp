#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr std::size_t most_arcs = 200;
constexpr double above = font_size + 10, arc_letters = 16.0, gap_beside_word = 8.0;
constexpr double usual_row = 36.0, widest_arcs = 460.0;
constexpr double smallest_shown = 0.005;  // of the scale

/// The places of the largest shares, the largest last: of very many 200, and none that nobody would see.
std::vector<std::size_t> shown_arcs(const Panel& panel, std::size_t most) {
  const auto& values = panel.matrix()->values;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= smallest_shown * panel.look.scale) shown.push_back(i);
  const auto is_smaller = [&](auto a, auto b) { return std::pair(values[a], a) < std::pair(values[b], b); };
  if (shown.size() > most) {
    const auto first = shown.end() - static_cast<std::ptrdiff_t>(most);
    std::nth_element(shown.begin(), first, shown.end(), is_smaller);
    shown.erase(shown.begin(), first);
  }
  std::sort(shown.begin(), shown.end(), is_smaller);
  return shown;
}

std::size_t most_words(const Matrix& matrix) {
  return std::max(matrix.rows.size(), matrix.columns.size());
}

double room_of(const Axis& axis) {
  return std::max(text_width(axis.name), widest(axis.labels, arc_letters)) + gap_beside_word;
}

/// A line for a share; the more words there are, the thinner.
void add_arc(Drawing& drawing, const Panel& panel, double share, bool is_marked, const std::string& line,
             const std::string& tooltip) {
  constexpr double thinnest = 0.6;
  const double thickest = std::clamp(300.0 / static_cast<double>(most_words(*panel.matrix())), 1.2, 10.0);
  const double place = std::min(share / panel.look.scale, 1.0);
  drawing.elements += fmt::format(
      "<path d=\"{}\" class=\"attn-{}arc\" stroke-width=\"{:.1f}\" stroke-opacity=\"{:.2f}\">"
      "<title>{}</title></path>\n",
      line, is_marked ? "marked-" : "", std::lerp(thinnest, thickest, place), std::lerp(0.25, 0.9, place),
      tooltip);
}

Room wish_of_arcs(const Panel& panel) {
  const auto& matrix = *panel.matrix();
  return {room_of(matrix.rows) + room_of(matrix.columns) + widest_arcs / 2,
          above + static_cast<double>(most_words(matrix)) * usual_row};
}

Drawing draw_arcs(const Panel& panel, const Room& room, const Shown&) {
  const auto& matrix = *panel.matrix();
  const auto most = static_cast<double>(most_words(matrix));
  const double row = std::clamp((room.height - above) / most, 1.0, 1.6 * usual_row);
  const double size = std::clamp(row, font_size, arc_letters);
  const double left = room_of(matrix.rows), beside = room_of(matrix.columns);
  const double right = left + std::clamp(room.width - left - beside, 90.0, widest_arcs);
  const double bend = 0.45 * (right - left);
  Drawing drawing{"", right + beside, above + row * most, left, row < font_size};
  const auto middle = [&](const Axis& axis, std::size_t i) {
    return above + row * (static_cast<double>(i) + 0.5 + (most - static_cast<double>(axis.size())) / 2);
  };
  const auto write = [&](const Axis& axis, double x, Anchor anchor) {
    drawing.text(x, above - 8, axis.name, anchor, "muted");
    for (std::size_t i = 0; row >= font_size && i < axis.size(); ++i)
      drawing.text(x, middle(axis, i) + baseline * size, axis.labels[i], anchor, "", size);
  };
  write(matrix.rows, left - gap_beside_word, Anchor::end);
  write(matrix.columns, right + gap_beside_word, Anchor::start);
  for (const auto i : shown_arcs(panel, most_arcs)) {
    const std::size_t query = i / matrix.columns.size(), key = i % matrix.columns.size();
    const double from = middle(matrix.rows, query), to = middle(matrix.columns, key);
    const bool is_marked = std::any_of(panel.marks.begin(), panel.marks.end(), [&](const Mark& mark) {
      return !mark.value && mark.row.value_or(query) == query && mark.column.value_or(key) == key;
    });
    add_arc(drawing, panel, matrix.values[i], is_marked,
            in_px("M{} {}C{} {} {} {} {} {}", left, from, left + bend, from, right - bend, to, right, to),
            fmt::format("{} → {}: {:.4g}", escaped(matrix.rows.labels[query]),
                        escaped(matrix.columns.labels[key]), matrix.values[i]));
  }
  return drawing;
}

/// Three lines and the shares that they stand for, and whether some have none.
Drawing legend_of_arcs(const Panels& panels, bool) {
  const auto& panel = *panels[0];
  Drawing drawing{"", 0, font_size + 6};
  for (const double place : {0.1, 0.5, 1.0}) {
    const auto words = fmt::format("{:.2g}", place * panel.look.scale);
    add_arc(drawing, panel, place * panel.look.scale, false, in_px("M{} 8h34", drawing.width), words);
    drawing.text(drawing.width + 40, font_size, words);
    drawing.width += 58 + text_width(words);
  }
  if (shown_arcs(panel, most_arcs + 1).size() > most_arcs) {
    const auto remark = fmt::format("the {} largest shares", most_arcs);
    drawing.text(drawing.width, font_size, remark, Anchor::start, "muted");
    drawing.width += text_width(remark);
  }
  return drawing;
}

}  // namespace

const Kind arcs{"arcs", wish_of_arcs, draw_arcs, nullptr, legend_of_arcs};

}  // namespace attn::svg

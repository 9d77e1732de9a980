#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "page/html/markup.hpp"
#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double above = font_size + 10;  // of a name there
constexpr double large = 16.0;            // letters of names and numbers
constexpr double gap = 8.0;

bool points_at(const Panel& panel, std::size_t row, std::size_t column) {
  return any_of(panel.marks, [&](const Mark& mark) {
    return !mark.value && mark.row.value_or(row) == row && mark.column.value_or(column) == column;
  });
}

double as_number(std::size_t count) {
  return static_cast<double>(count);
}

// Bars.

constexpr double usual_column = 40.0, widest_column = 90.0, usual_bar_height = 150.0, below_bars = 21.0;

struct Bar {
  std::string name, number;
  double value;
  std::string paint;
  bool is_marked = false;
};

/// Of many the largest, in size.
std::vector<Bar> bars_of(const Panel& panel) {
  constexpr std::size_t shown_of_many = 12;
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

double widest_name(const std::vector<Bar>& bars) {
  double widest = 0.0;
  for (const auto& bar : bars) widest = std::max(widest, bold * text_width(bar.name, large));
  return widest;
}

Room wish_of_bars(const Panel& panel) {
  const auto bars = bars_of(panel);
  return {as_number(bars.size()) * std::clamp(widest_name(bars) + 8, usual_column, widest_column),
          above + usual_bar_height + below_bars};
}

/// Names that are wider than their columns are turned; a number that is, is left out.
Drawing draw_bars(const Panel& panel, const Room& room, const Shown&) {
  const auto& look = panel.look;
  const auto bars = bars_of(panel);
  const double column = std::clamp(room.width / as_number(bars.size()), large, widest_column);
  const double widest = widest_name(bars) + 4, letters_of_names = widest <= column ? large : font_size;
  const double length_of_names = widest * letters_of_names / large;
  const bool are_turned = length_of_names > column;
  const double below = are_turned ? 0.71 * length_of_names + large : below_bars;
  const double height = std::max(room.height - above - below, 60.0), bottom = above + height;
  const double zero = look.has_negative ? bottom - height / 2 : bottom;
  Drawing drawing{"", as_number(bars.size()) * column, bottom + below};
  if (const auto all = panel.matrix()->values.size(); all > bars.size())
    drawing.text(drawing.width, font_size, fmt::format("the {} largest of {}", bars.size(), all), Anchor::end,
                 "muted");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, number, value, paint, is_marked] = bars[i];
    const double size = std::min(std::abs(value), look.scale) * ((zero - above) / look.scale);
    const double x = (as_number(i) + 0.5) * column, y = value < 0.0 ? zero : zero - size;
    const auto* const style = is_marked ? "mark" : "";
    drawing.rectangle(x - 0.36 * column, y, 0.72 * column, size, paint);
    const double letters = text_width(number, large) <= column ? large : font_size;
    if (text_width(number, letters) <= column)
      drawing.text(x, value < 0.0 ? y + size + letters : y - 5, number, Anchor::middle, style, letters);
    drawing.text(x, bottom + large + 2, name, are_turned ? Anchor::end : Anchor::middle, style,
                 letters_of_names, are_turned ? -45.0 : 0.0);
  }
  drawing.path("rule", in_px("M0 {}h{}", zero, drawing.width));
  return drawing;
}

// Stacks.

double above_stacks(const Matrix& matrix) {
  return matrix.columns.name.empty() ? 0.0 : above;
}

Room wish_of_stacks(const Panel& panel) {
  constexpr double longest = 640.0, usual_row = 54.0;
  return {longest, above_stacks(*panel.matrix()) + as_number(panel.matrix()->rows.size()) * usual_row};
}

/// The names of the columns stand above the first bar, each where its part of it begins or right of the one
/// before; a part that is pointed at is dark.
Drawing draw_stacks(const Panel& panel, const Room& room, const Shown&) {
  const auto& [kind, rows, columns, values, paints, words, row_remarks] = *panel.matrix();
  const auto numbers = short_numbers(*panel.matrix());
  const double names = std::max(bold * widest(rows.labels, large), widest(row_remarks));
  const double left = names > 0.0 ? names + gap : 0.0, top = above_stacks(*panel.matrix());
  const double length = std::max(room.width - left, 60.0);
  const double row = std::max((room.height - top) / as_number(rows.size()), 2.4 * font_size);
  const double height = 0.66 * row;
  Drawing drawing{"", 0, top + as_number(rows.size()) * row, left};
  double free_from = left;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = top + as_number(i) * row, middle = y + height / 2;
    const auto& remark = row_remarks.empty() ? "" : row_remarks[i];
    drawing.text(left - gap, middle + (remark.empty() ? baseline * large : -2.0), rows.labels[i], Anchor::end,
                 "caption");
    drawing.text(left - gap, middle + font_size, remark, Anchor::end, "muted");
    double x = left;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const auto cell = i * columns.size() + j;
      const double width = std::isfinite(values[cell]) ? values[cell] * length : 0.0;
      Drawing part;
      part.rectangle(x, y, width, height, "");
      if (text_width(numbers[cell], large) <= width)
        part.text(x + width / 2, middle + baseline * large, numbers[cell], Anchor::middle, "on", large);
      drawing.group(points_at(panel, i, j) ? paint_of_place(0.85)
                    : paints.empty() ? paint_of_place(0.1 + 0.55 * (as_number(j) / as_number(columns.size())))
                                     : paints[cell],
                    part.elements);
      const double half = text_width(columns.labels[j], large) / 2;
      const double centre = std::max(x + width / 2, free_from + half);
      if (i == 0) drawing.text(centre, top - 8, columns.labels[j], Anchor::middle, "", large);
      if (i == 0) free_from = centre + half + gap;
      x += width;
    }
  }
  drawing.width = std::max(left + length, free_from);
  return drawing;
}

// Arcs.

constexpr std::size_t most_arcs = 200;
constexpr double usual_row = 36.0, widest_arcs = 460.0;

/// The places of the largest shares, the largest last: of very many 200, and none that nobody would see.
std::vector<std::size_t> shown_arcs(const Panel& panel, std::size_t most) {
  constexpr double smallest_shown = 0.005;  // of the scale
  const auto& values = panel.matrix()->values;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= smallest_shown * panel.look.scale) shown.push_back(i);
  const auto is_smaller = [&](auto a, auto b) { return std::pair(values[a], a) < std::pair(values[b], b); };
  std::sort(shown.begin(), shown.end(), is_smaller);
  if (shown.size() > most) shown.erase(shown.begin(), shown.end() - static_cast<std::ptrdiff_t>(most));
  return shown;
}

double most_words(const Matrix& matrix) {
  return as_number(std::max(matrix.rows.size(), matrix.columns.size()));
}

double room_of(const Axis& axis) {
  return std::max(text_width(axis.name), widest(axis.labels, large)) + gap;
}

/// A line for a share; the more words there are, the thinner.
void add_arc(Drawing& drawing, const Panel& panel, double share, bool is_marked, const std::string& line,
             const std::string& tooltip) {
  constexpr double thinnest = 0.6;
  const double thickest = std::clamp(300.0 / most_words(*panel.matrix()), 1.2, 10.0);
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
          above + most_words(matrix) * usual_row};
}

Drawing draw_arcs(const Panel& panel, const Room& room, const Shown&) {
  const auto& matrix = *panel.matrix();
  const double most = most_words(matrix);
  const double row = std::clamp((room.height - above) / most, 1.0, 1.6 * usual_row);
  const double size = std::clamp(row, font_size, large);
  const double left = room_of(matrix.rows), beside = room_of(matrix.columns);
  const double right = left + std::clamp(room.width - left - beside, 90.0, widest_arcs);
  const double bend = 0.45 * (right - left);
  Drawing drawing{"", right + beside, above + row * most, left, row < font_size};
  const auto middle = [&](const Axis& axis, std::size_t i) {
    return above + row * (as_number(i) + 0.5 + (most - as_number(axis.size())) / 2);
  };
  for (const auto& [axis, x, anchor] :
       {std::tuple(&matrix.rows, left - gap, Anchor::end), {&matrix.columns, right + gap, Anchor::start}}) {
    drawing.text(x, above - 8, axis->name, anchor, "muted");
    for (std::size_t i = 0; row >= font_size && i < axis->size(); ++i)
      drawing.text(x, middle(*axis, i) + baseline * size, axis->labels[i], anchor, "", size);
  }
  for (const auto i : shown_arcs(panel, most_arcs)) {
    const std::size_t query = i / matrix.columns.size(), key = i % matrix.columns.size();
    const double from = middle(matrix.rows, query), to = middle(matrix.columns, key);
    add_arc(drawing, panel, matrix.values[i], points_at(panel, query, key),
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

// Lines.

constexpr double above_plot = font_size + 12, below_plot = 46.0, gap_beside_name = 12.0, name_size = 15.0;

/// One plot: the frame and what stands in it and around it.
class LinePlot {
 public:
  LinePlot(const Panel& panel, const Room& room) : panel_(panel), curves_(std::get<Curves>(panel.content)) {
    auto& [low, high, is_logarithmic] = curves_.vertical;
    for (const auto& mark : panel.marks) {
      low = std::min(low, mark.value.value_or(low));
      high = std::max(high, mark.value.value_or(high));
      if (mark.row && !mark.column)
        curves_.lines[*mark.row].name = joined(curves_.lines[*mark.row].name, mark.words);
    }
    if (!is_logarithmic && low > 0.0 && low < high / 2) low = 0.0;
    curves_.vertical = with_round_ends(curves_.vertical);
    for (const double value : ticks_of(curves_.vertical))
      left_ = std::max(left_, text_width(tick(value)) + 10);
    double right = 20.0;
    for (const auto& line : curves_.lines)
      right = std::max(right, gap_beside_name + bold * text_width(line.name, name_size));
    width_ = std::max(room.width - left_ - right, 160.0);
    bottom_ = above_plot + std::max({room.height - above_plot - below_plot, 120.0,
                                     name_size * as_number(curves_.lines.size())});
    drawing_ = {"", left_ + width_ + right, bottom_ + below_plot, left_};
  }

  Drawing draw() {
    const bool is_upright = curves_.vertical.is_logarithmic, is_across = curves_.horizontal.is_logarithmic;
    const auto* const scale = !is_upright ? "" : is_across ? "both axes logarithmic" : "logarithmic";
    drawing_.text(left_, above_plot - 10,  // a panel's caption says what its values are
                  joined(panel_.caption.empty() ? curves_.value_name : "", scale), Anchor::start, "muted");
    drawing_.text(left_ + width_ / 2, bottom_ + 40,
                  joined(curves_.axis, is_across && !is_upright ? "logarithmic" : ""), Anchor::middle,
                  "muted");
    add_ticks();
    for (std::size_t i = 0; i < curves_.lines.size(); ++i) add_line(i);
    for (const auto& mark : panel_.marks) add_mark(mark);
    add_names();
    return drawing_;
  }

 private:
  double x_of(double position) const { return left_ + curves_.horizontal.place(position) * width_; }
  double y_of(double value) const {
    return above_plot + (1.0 - curves_.vertical.place(value)) * (bottom_ - above_plot);
  }

  /// A few positions are written themselves, but for those whose names would run into the one before. Where
  /// all are whole, layers say, no tick stands between two.
  std::vector<double> horizontal_ticks() const {
    constexpr std::size_t most_positions = 10;
    const auto is_whole = [](double position) { return position == std::floor(position); };
    const auto& positions = curves_.positions;
    auto ticks = positions.size() <= most_positions ? positions : ticks_of(curves_.horizontal);
    if (all_of(positions, is_whole))
      std::erase_if(ticks, [&](double position) { return !is_whole(position); });
    std::sort(ticks.begin(), ticks.end());
    double free_from = 0.0;
    std::erase_if(ticks, [&](double position) {
      const double half = text_width(tick(position)) / 2, x = x_of(position);
      if (x - half < free_from) return true;
      free_from = x + half + 6;
      return false;
    });
    return ticks;
  }

  void add_ticks() {
    std::string grid;
    for (const double value : ticks_of(curves_.vertical)) {
      grid += in_px("M{} {}h{}", left_, y_of(value), width_);
      drawing_.text(left_ - 7, y_of(value) + baseline * font_size, with_minus_sign(tick(value)), Anchor::end);
    }
    for (const double position : horizontal_ticks()) {
      grid += in_px("M{} {}v{}", x_of(position), above_plot, bottom_ - above_plot);
      drawing_.text(x_of(position), bottom_ + 18, with_minus_sign(tick(position)), Anchor::middle);
    }
    drawing_.path("grid", grid);
    drawing_.path("rule", in_px("M{} {}v{}h{}", left_, above_plot, bottom_ - above_plot, width_));
  }

  std::string paint_of(std::size_t line) const {
    return paint_of_line(curves_.lines[line].style.value_or(line));
  }

  /// The line with a gap wherever a value is not finite, every fourth with dashes; of few points each is
  /// marked.
  void add_line(std::size_t index) {
    constexpr std::size_t most_marks = 12;
    const auto& [name, values, style] = curves_.lines[index];
    std::string line, marks;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      const auto point = in_px("{} {}", x_of(curves_.positions[i]), y_of(values[i]));
      line += (i > 0 && std::isfinite(values[i - 1]) ? "L" : "M") + point;
      if (values.size() <= most_marks) marks += "M" + point + "h0";
    }
    Drawing both;
    both.path("line", line, style.value_or(index) % 4 == 3 ? " stroke-dasharray=\"9 4\"" : "");
    both.path("marks", marks);
    drawing_.group(paint_of(index), both.elements);
  }

  /// A point of a line, a position on all of them, or a value, each with its words where there is room.
  void add_mark(const Mark& mark) {
    if (mark.value) {
      drawing_.path("guide", in_px("M{} {}h{}", left_, y_of(*mark.value), width_));
      drawing_.text(left_ + width_ / 2, y_of(*mark.value) - 6, mark.words, Anchor::middle, "mark");
    }
    if (mark.value || !mark.column) return;
    const double x = x_of(curves_.positions[*mark.column]);
    double y = y_of(curves_.lines[mark.row.value_or(0)].values[*mark.column]);
    if (curves_.lines.size() > 1 && !mark.row) {
      drawing_.path("guide", in_px("M{} {}v{}", x, above_plot, bottom_ - above_plot));
      y = 2 * y > above_plot + bottom_ ? above_plot + 2 * font_size : bottom_ + 1;  // away from the lines
    } else {
      drawing_.elements += in_px("<circle cx=\"{}\" cy=\"{}\" r=\"6\" class=\"attn-point\"/>\n", x, y);
    }
    const bool is_right = x > left_ + width_ / 2;
    drawing_.text(is_right ? x - 9 : x + 9, y - 9, mark.words, is_right ? Anchor::end : Anchor::start,
                  "mark");
  }

  /// Each name beside the end of its line, moved down where it would stand on another.
  void add_names() {
    constexpr double row = name_size + 2;
    std::vector<std::pair<double, std::size_t>> ends;
    for (std::size_t i = 0; i < curves_.lines.size(); ++i) {
      double end = above_plot;
      for (const double value : curves_.lines[i].values)
        if (std::isfinite(value)) end = y_of(value);
      if (!curves_.lines[i].name.empty()) ends.emplace_back(end, i);
    }
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 1; i < ends.size(); ++i)
      ends[i].first = std::max(ends[i].first, ends[i - 1].first + row);
    double most = bottom_;
    for (auto i = ends.size(); i-- > 0; most -= row) ends[i].first = std::min(ends[i].first, most);
    for (const auto& [y, i] : ends) {
      Drawing name;
      name.text(left_ + width_ + gap_beside_name, y + baseline * name_size, curves_.lines[i].name,
                Anchor::start, "on attn-name", name_size);
      drawing_.group(paint_of(i), name.elements);
    }
  }

  const Panel& panel_;
  Curves curves_;
  double left_ = 0.0, width_ = 0.0, bottom_ = 0.0;  ///< where the frame is
  Drawing drawing_{};
};

Drawing flow_of(const Panel& panel) {
  return html::flow_drawing(std::get<std::string>(panel.content), [](const auto&, const std::string& shape) {
    return std::string(shape.empty() ? "" : html::nowhere);
  });
}

}  // namespace

const Kind bars{"bars", wish_of_bars, draw_bars};
const Kind stacks{"stacks", wish_of_stacks, draw_stacks};
const Kind colours{"colours", wish_of_stacks, draw_stacks};
const Kind bar_palette{"palette", wish_of_stacks, draw_stacks};
const Kind arcs{.name = "arcs", .wish = wish_of_arcs, .draw = draw_arcs, .legend = legend_of_arcs};
const Kind lines{
    "lines",
    [](const Panel&) {
      return Room{520, 240};
    },
    [](const Panel& panel, const Room& room, const Shown&) { return LinePlot(panel, room).draw(); }};
const Kind flow{"flow",
                [](const Panel& panel) {
                  const auto drawing = flow_of(panel);
                  return Room{drawing.width, drawing.height};
                },
                [](const Panel& panel, const Room&, const Shown&) { return flow_of(panel); }};

const Kind* kind_named(std::string_view name) {
  for (const auto* kind : {&heatmap, &together, &stacks, &colours, &bar_palette, &arcs, &bars, &lines, &flow})
    if (kind->name == name) return kind;
  return nullptr;
}

std::vector<std::string> short_numbers(const Matrix& matrix) {
  if (!matrix.words.empty()) return matrix.words;
  const bool is_whole =
      all_of(matrix.values, [](double v) { return !std::isfinite(v) || v == std::round(v); });
  const bool are_shares = matrix.kind == Matrix::Kind::shares;
  const double largest = largest_size(matrix.values);
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

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double usual_width = 520.0, usual_height = 240.0, gap_beside_name = 12.0, name_size = 15.0;
constexpr double above_plot = font_size + 12, below_plot = 46.0;

/// One plot: the frame and what stands in it and around it.
class LinePlot {
 public:
  LinePlot(const Panel& panel, const Room& room) : panel_(panel), curves_(std::get<Curves>(panel.content)) {
    auto& [low, high, is_logarithmic] = curves_.vertical;
    for (const auto& mark : panel.marks) {
      low = std::min(low, mark.value.value_or(low));
      high = std::max(high, mark.value.value_or(high));
      if (!mark.row || mark.column) continue;
      auto& name = curves_.lines[*mark.row].name;
      name += (name.empty() || mark.words.empty() ? "" : ", ") + mark.words;
    }
    if (!is_logarithmic && low > 0.0 && low < high / 2) low = 0.0;
    curves_.vertical = with_round_ends(curves_.vertical);
    for (const double value : ticks_of(curves_.vertical))
      left_ = std::max(left_, text_width(tick(value)) + 10);
    double right = 20.0;
    for (const auto& line : curves_.lines)
      right = std::max(right, gap_beside_name + bold * text_width(line.name, name_size));
    width_ = std::max(room.width - left_ - right, 160.0);
    height_ = std::max({room.height - above_plot - below_plot, 120.0,
                        name_size * static_cast<double>(curves_.lines.size())});
    drawing_ = {"", left_ + width_ + right, bottom() + below_plot, left_};
  }

  Drawing draw() {
    const bool is_upright = curves_.vertical.is_logarithmic, is_across = curves_.horizontal.is_logarithmic;
    const char* const one = "logarithmic";
    drawing_.text(left_, above_plot - 10,
                  axis_name(panel_.caption.empty() ? curves_.value_name : "", is_upright && is_across
                                                                                  ? "both axes logarithmic"
                                                                              : is_upright ? one
                                                                                           : ""),
                  Anchor::start, "muted");
    drawing_.text(left_ + width_ / 2, bottom() + 40,
                  axis_name(curves_.axis, is_across && !is_upright ? one : ""), Anchor::middle, "muted");
    add_ticks();
    for (std::size_t i = 0; i < curves_.lines.size(); ++i) add_line(i);
    for (const auto& mark : panel_.marks) add_mark(mark);
    add_names();
    return drawing_;
  }

 private:
  /// A panel's caption says what its values are.
  static std::string axis_name(const std::string& name, const std::string& scale) {
    return name + (name.empty() || scale.empty() ? "" : ", ") + scale;
  }

  double bottom() const { return above_plot + height_; }
  double x_of(double position) const { return left_ + curves_.horizontal.place(position) * width_; }
  double y_of(double value) const { return above_plot + (1.0 - curves_.vertical.place(value)) * height_; }

  /// A few positions are written themselves, but for those whose names would run into the one before. Where
  /// all are whole, layers say, no tick stands between two.
  std::vector<double> horizontal_ticks() const {
    constexpr std::size_t most_positions = 10;
    const auto is_whole = [](double position) { return position == std::floor(position); };
    const auto& positions = curves_.positions;
    auto ticks = positions.size() <= most_positions ? positions : ticks_of(curves_.horizontal);
    if (std::all_of(positions.begin(), positions.end(), is_whole))
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
      grid += in_px("M{} {}v{}", x_of(position), above_plot, height_);
      drawing_.text(x_of(position), bottom() + 18, with_minus_sign(tick(position)), Anchor::middle);
    }
    drawing_.path("grid", grid);
    drawing_.path("rule", in_px("M{} {}v{}h{}", left_, above_plot, height_, width_));
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
    const auto& [row, column, value, words, last_row] = mark;
    if (value) {
      drawing_.path("guide", in_px("M{} {}h{}", left_, y_of(*value), width_));
      drawing_.text(left_ + width_ / 2, y_of(*value) - 6, words, Anchor::middle, "mark");
    }
    if (value || !column) return;
    const double x = x_of(curves_.positions[*column]);
    const bool is_right = x > left_ + width_ / 2, is_of_all = curves_.lines.size() > 1 && !row;
    const double y = is_of_all ? bottom() + 1 : y_of(curves_.lines[row.value_or(0)].values[*column]);
    if (is_of_all)
      drawing_.path("guide", in_px("M{} {}v{}", x, above_plot, height_));
    else
      drawing_.elements += in_px("<circle cx=\"{}\" cy=\"{}\" r=\"6\" class=\"attn-point\"/>\n", x, y);
    drawing_.text(is_right ? x - 9 : x + 9, y - 9, words, is_right ? Anchor::end : Anchor::start, "mark");
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
    double most = bottom();
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
  double left_ = 0.0, width_ = 0.0, height_ = 0.0;  ///< where the frame is, and how large
  Drawing drawing_{};
};

Room wish_of_lines(const Panel&) {
  return {usual_width, usual_height};
}

Drawing draw_lines(const Panel& panel, const Room& room, const Shown&) {
  return LinePlot(panel, room).draw();
}

}  // namespace

const Kind lines{"lines", wish_of_lines, draw_lines};

}  // namespace attn::svg

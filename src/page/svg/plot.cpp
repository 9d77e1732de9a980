#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double usual_width = 520.0, usual_height = 240.0, gap_beside_name = 12.0, name_size = 15.0;

/// One plot: the frame and what stands in it and around it.
class LinePlot {
 public:
  LinePlot(const Panel& panel, const Look& look, const Room& room)
      : panel_(panel), theme_(look.theme), curves_(std::get<Curves>(panel.content)) {
    auto& [low, high, is_logarithmic] = curves_.vertical;
    for (const auto& mark : panel.marks) low = std::min(low, mark.value.value_or(low));
    for (const auto& mark : panel.marks) high = std::max(high, mark.value.value_or(high));
    if (!is_logarithmic && low > 0.0 && low < high / 2) low = 0.0;
    curves_.vertical = with_round_ends(curves_.vertical);
    for (const double value : ticks_of(curves_.vertical))
      left_ = std::max(left_, text_width(tick(value)) + 10);
    for (const auto& mark : panel.marks)
      if (mark.row && !mark.column) {
        auto& name = curves_.lines[*mark.row].name;
        name += (name.empty() || mark.words.empty() ? "" : ", ") + mark.words;
      }
    for (const auto& line : curves_.lines)
      right_ = std::max(right_, gap_beside_name + bold * text_width(line.name, name_size));
    top_ = font_size + 12;
    width_ = std::max(room.width - left_ - right_, 160.0);
    height_ =
        std::max({room.height - top_ - below, 120.0, name_size * static_cast<double>(curves_.lines.size())});
  }

  Drawing draw() const {
    const bool are_both = curves_.vertical.is_logarithmic && curves_.horizontal.is_logarithmic;
    auto elements = text(left_, top_ - 10,
                         axis_name(panel_.caption.empty() ? curves_.value_name : "",
                                   are_both                          ? "both axes logarithmic"
                                   : curves_.vertical.is_logarithmic ? "logarithmic"
                                                                     : ""),
                         Anchor::start, "muted");
    elements +=
        text(left_ + width_ / 2, top_ + height_ + 40,
             axis_name(curves_.axis, curves_.horizontal.is_logarithmic && !are_both ? "logarithmic" : ""),
             Anchor::middle, "muted");
    elements += frame_and_ticks();
    for (std::size_t i = 0; i < curves_.lines.size(); ++i) elements += path_of(i);
    for (const auto& mark : panel_.marks) elements += drawn(mark);
    return {elements + names(), left_ + width_ + right_, top_ + height_ + below, left_};
  }

 private:
  static constexpr double below = 46.0;

  /// A panel's caption says what its values are.
  static std::string axis_name(const std::string& name, const std::string& scale) {
    return name + (name.empty() || scale.empty() ? "" : ", ") + scale;
  }

  double x_of(double position) const { return left_ + curves_.horizontal.place(position) * width_; }
  double y_of(double value) const { return top_ + (1.0 - curves_.vertical.place(value)) * height_; }

  /// A few positions are written themselves, but for those whose names would run into the one before. Where
  /// all are whole, layers say, no tick stands between two.
  std::vector<double> horizontal_ticks() const {
    constexpr std::size_t most_positions = 10;
    constexpr double gap = 6.0;
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
      free_from = x + half + gap;
      return false;
    });
    return ticks;
  }

  std::string frame_and_ticks() const {
    auto elements = fmt::format("<path d=\"M{} {}v{}h{}\" class=\"attn-rule\"/>\n", px(left_), px(top_),
                                px(height_), px(width_));
    std::string grid;
    for (const double value : ticks_of(curves_.vertical)) {
      grid += fmt::format("M{} {}h{}", px(left_), px(y_of(value)), px(width_));
      elements += text(left_ - 7, y_of(value) + baseline * font_size, with_minus_sign(tick(value)),
                       Anchor::end, "label");
    }
    for (const double position : horizontal_ticks()) {
      grid += fmt::format("M{} {}v{}", px(x_of(position)), px(top_), px(height_));
      elements +=
          text(x_of(position), top_ + height_ + 18, with_minus_sign(tick(position)), Anchor::middle, "label");
    }
    return fmt::format("<path d=\"{}\" class=\"attn-grid\"/>\n", grid) + elements;
  }

  /// The line with a gap wherever a value is not finite; of few points each is marked.
  std::string path_of(std::size_t index) const {
    constexpr std::size_t most_marks = 12;
    const auto& [name, values, style] = curves_.lines[index];
    std::string line, marks;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      const auto point = px(x_of(curves_.positions[i])) + " " + px(y_of(values[i]));
      line += (i > 0 && std::isfinite(values[i - 1]) ? "L" : "M") + point;
      if (values.size() <= most_marks) marks += "M" + point + "h0";
    }
    std::string elements;
    for (const auto& [path, kind] : {std::pair(line, "line"), {marks, "marks"}})
      if (!path.empty())
        elements += fmt::format("<path d=\"{}\" class=\"attn-{}\" {}/>\n", path, kind,
                                line_style(theme_, style.value_or(index)));
    return elements;
  }

  /// A point of a line, a position on all of them, or a value, each with its words where there is room.
  std::string drawn(const Mark& mark) const {
    const auto& [row, column, value, words, last_row] = mark;
    const auto guide = [](const std::string& line) {
      return fmt::format("<path d=\"{}\" class=\"attn-guide\"/>\n", line);
    };
    if (value) {
      const double y = y_of(*value);
      return guide(fmt::format("M{} {}h{}", px(left_), px(y), px(width_))) +
             text(left_ + width_ / 2, y - 6, words, Anchor::middle, "mark");
    }
    if (!column) return "";
    const double x = x_of(curves_.positions[*column]);
    const bool is_right = x > left_ + width_ / 2;
    const double beside = is_right ? x - 9 : x + 9;
    const auto anchor = is_right ? Anchor::end : Anchor::start;
    const bool is_of_all = curves_.lines.size() > 1 && !row;
    if (is_of_all)
      return guide(fmt::format("M{} {}v{}", px(x), px(top_), px(height_))) +
             text(beside, top_ + height_ - 8, words, anchor, "mark");
    const double y = y_of(curves_.lines[row.value_or(0)].values[*column]);
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"6\" class=\"attn-point\"/>\n", px(x), px(y)) +
           text(beside, y - 9, words, anchor, "mark");
  }

  /// Each name beside the end of its line, moved down where it would stand on another.
  std::string names() const {
    std::vector<std::pair<double, std::size_t>> ends;
    for (std::size_t i = 0; i < curves_.lines.size(); ++i) {
      double end = top_;
      for (const double value : curves_.lines[i].values)
        if (std::isfinite(value)) end = y_of(value);
      if (!curves_.lines[i].name.empty()) ends.emplace_back(end, i);
    }
    std::sort(ends.begin(), ends.end());
    const double row = name_size + 2;
    for (std::size_t i = 1; i < ends.size(); ++i)
      ends[i].first = std::max(ends[i].first, ends[i - 1].first + row);
    double most = top_ + height_;
    for (auto i = ends.size(); i-- > 0; most -= row) ends[i].first = std::min(ends[i].first, most);
    std::string elements;
    for (const auto& [y, i] : ends) {
      elements +=
          fmt::format("<g fill=\"{}\">{}</g>\n", hex(line_colour(theme_, curves_.lines[i].style.value_or(i))),
                      text(left_ + width_ + gap_beside_name, y + baseline * name_size, curves_.lines[i].name,
                           Anchor::start, "name", 0.0, name_size));
    }
    return elements;
  }

  const Panel& panel_;
  Theme theme_;
  Curves curves_;
  double left_ = 0.0, right_ = 20.0, top_ = 0.0;  ///< what stands around the frame
  double width_ = 0.0, height_ = 0.0;             ///< of the frame
};

Room wish_of_lines(const Panel&) {
  return {usual_width, usual_height};
}

Drawing draw_lines(const Panel& panel, const Look& look, const Room& room, const Shown&) {
  return LinePlot(panel, look, room).draw();
}

}  // namespace

const Kind lines{"lines", wish_of_lines, nothing_beside, draw_lines};

}  // namespace attn::svg

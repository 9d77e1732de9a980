#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "attn/text/width.hpp"
#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr std::size_t longest_word = 24;
constexpr double above = font_size + 10, arc_letters = 16.0;
constexpr double usual_row = 36.0, widest_arcs = 460.0, gap_beside_word = 8.0;
constexpr double smallest_shown = 0.005;  // of the scale
constexpr std::size_t most_arcs = 200;

/// The smallest share that has a line: of very many shares a larger one.
double smallest_arc(const Matrix& matrix, const Look& look) {
  const double smallest = smallest_shown * look.scale;
  std::vector<double> shares;
  for (const double share : matrix.values)
    if (share >= smallest) shares.push_back(share);
  if (shares.size() <= most_arcs) return smallest;
  std::nth_element(shares.begin(), shares.begin() + most_arcs, shares.end(), std::greater<>());
  const double unit = std::pow(10.0, std::floor(std::log10(shares[most_arcs])) - 1);
  return unit * std::ceil(shares[most_arcs] / unit);  // two digits
}

double widest_of(const Axis& axis) {
  double widest = text_width(axis.name);
  for (const auto& label : axis.labels)
    widest = std::max(widest, text_width(shorten(label, longest_word), arc_letters));
  return widest;
}

/// Words of one side from top to bottom, with the y of their middles.
struct Side {
  const Axis& axis;
  double row, top;

  double middle(std::size_t i) const { return top + (static_cast<double>(i) + 0.5) * row; }
};

Room wish_of_arcs(const Panel& panel) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto rows = static_cast<double>(std::max(matrix.rows.size(), matrix.columns.size()));
  return {widest_of(matrix.rows) + widest_of(matrix.columns) + widest_arcs / 2, above + rows * usual_row};
}

Drawing draw_arcs(const Panel& panel, const Look& look, const Room& room, const Shown&) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const double top = above;
  const std::size_t most_words = std::max(matrix.rows.size(), matrix.columns.size());
  const double row = std::clamp((room.height - top) / static_cast<double>(most_words), 1.0, 1.6 * usual_row);
  const auto side = [&](const Axis& axis) {
    return Side{axis, row, top + row * static_cast<double>(most_words - axis.size()) / 2};
  };
  const Side queries = side(matrix.rows), keys = side(matrix.columns);
  const double left = widest_of(matrix.rows) + gap_beside_word;
  const double beside = left + widest_of(matrix.columns) + gap_beside_word;
  const double right = left + std::clamp(room.width - beside, 90.0, widest_arcs);

  std::string elements;
  const double size = std::clamp(row, font_size, arc_letters);
  const auto write = [&](const Side& words, double x, Anchor anchor) {
    elements += text(x, top - 8, words.axis.name, anchor, "muted");
    for (std::size_t i = 0; row >= font_size && i < words.axis.size(); ++i)
      elements += text(x, words.middle(i) + baseline * size, shorten(words.axis.labels[i], longest_word),
                       anchor, "label", 0.0, size);
  };
  write(queries, left - gap_beside_word, Anchor::end);
  write(keys, right + gap_beside_word, Anchor::start);
  const auto is_marked = [&](std::size_t query, std::size_t key) {
    return std::any_of(panel.marks.begin(), panel.marks.end(), [&](const Mark& mark) {
      return !mark.value && mark.row.value_or(query) == query && mark.column.value_or(key) == key;
    });
  };
  const double smallest = smallest_arc(matrix, look), thickest = thickest_arc(matrix);
  std::vector<std::size_t> order(matrix.values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::erase_if(order, [&](std::size_t i) { return !(matrix.values[i] >= smallest); });
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return matrix.values[a] < matrix.values[b]; });
  for (const auto i : order) {  // the thickest on top
    const std::size_t query = i / keys.axis.size(), key = i % keys.axis.size();
    const double from = queries.middle(query), to = keys.middle(key), bend = 0.45 * (right - left);
    elements += fmt::format(
        "<path d=\"M{0} {2}C{4} {2} {5} {3} {1} {3}\" class=\"attn-arc\" {6}>"
        "<title>{7} → {8}: {9:.4g}</title></path>\n",
        px(left), px(right), px(from), px(to), px(left + bend), px(right - bend),
        arc_style(is_marked(query, key) ? hex(palette(look.theme).mark) : usual_arc,
                  matrix.values[i] / look.scale, thickest),
        escaped(queries.axis.labels[query]), escaped(keys.axis.labels[key]), matrix.values[i]);
  }
  return {elements, right + gap_beside_word + widest_of(matrix.columns),
          top + row * static_cast<double>(most_words), left, row < font_size};
}

}  // namespace

std::string arc_style(std::string_view colour, double place, double thickest) {
  return fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\" stroke-opacity=\"{:.2f}\"", colour,
                     0.6 + (thickest - 0.6) * std::min(place, 1.0), 0.25 + 0.65 * std::min(place, 1.0));
}

double thickest_arc(const Matrix& matrix) {
  return std::clamp(300.0 / static_cast<double>(std::max(matrix.rows.size(), matrix.columns.size())), 1.2,
                    10.0);
}

std::string remark_on_arcs(const Matrix& matrix, const Look& look) {
  const double smallest = smallest_arc(matrix, look);
  return smallest > smallest_shown * look.scale ? fmt::format("Shares below {:g} have no line.", smallest)
                                                : "";
}

const Kind arcs{"arcs", wish_of_arcs, nothing_beside, draw_arcs};

}  // namespace attn::svg

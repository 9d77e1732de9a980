#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/text/width.hpp"
#include "page/svg/svg.hpp"
#include "trace/entry.hpp"

namespace attn::svg {

namespace {

constexpr std::size_t most_tokens = 100;
constexpr std::size_t longest_label = 14;
constexpr double page_width = 1400.0;
constexpr double label_size = 12.0;
constexpr double axis_name_room = 18.0;
constexpr double heatmap_gap = 28.0;

/// The size of a cell, and of the digits in it, for so many tokens on the longer axis.
struct Cells {
  double side = 0.0;
  double font_size = 0.0;  ///< 0 where digits would not be readable
};

Cells cells_for(std::size_t tokens) {
  if (tokens <= 8) return {46.0, 12.0};
  if (tokens <= 16) return {34.0, 10.0};
  if (tokens <= 30) return {24.0, 0.0};
  return {14.0, 0.0};
}

std::string written(double weight, int digits) {
  return std::isnan(weight) ? "nan" : fmt::format("{:.{}f}", weight, digits);
}

/// Lines from the lower left to the upper right across a cell: a mask hides its key.
std::string hatching(double x, double y, double side) {
  std::string path;
  for (const double part : {0.25, 0.5, 0.75, 1.0})
    path += fmt::format("M{0:.1f} {3:.1f}L{2:.1f} {1:.1f}", x, y, x + part * side, y + part * side);
  for (const double part : {0.25, 0.5, 0.75})
    path +=
        fmt::format("M{0:.1f} {3:.1f}L{2:.1f} {1:.1f}", x + part * side, y + part * side, x + side, y + side);
  return fmt::format("<path d=\"{}\" class=\"hidden\"/>\n", path);
}

/// One query × key table of a tensor.
class Heatmap {
 public:
  Heatmap(const Event& event, std::size_t index)
      : event_(event),
        rank_(event.tensor->shape.size()),
        index_(index),
        queries_(rank_ > 1 ? std::min(event.tensor->shape[rank_ - 2], most_tokens) : 1),
        keys_(std::min(event.tensor->shape[rank_ - 1], most_tokens)),
        cells_(cells_for(std::max(queries_, keys_))) {}

  Drawing draw() const {
    const double left = widest_label(rank_ - 2, queries_) + 8.0 + (rank_ > 1 ? axis_name_room : 0.0);
    const double top = 22.0 + axis_name_room + column_label_room();
    const double right = are_columns_turned() ? 0.75 * widest_label(rank_ - 1, keys_) : 0.0;
    std::string elements = text(left, 13.0, caption(), Anchor::start, "caption");
    elements += axis_names(left, top);
    for (std::size_t j = 0; j < keys_; ++j) elements += column_label(j, left, top);
    for (std::size_t i = 0; i < queries_; ++i) elements += row(i, left, top);
    return {elements, left + static_cast<double>(keys_) * cells_.side + right,
            top + static_cast<double>(queries_) * cells_.side};
  }

 private:
  std::string label(std::size_t axis, std::size_t position) const {
    const auto& labels = event_.labels[axis];
    if (labels.empty()) return fmt::format("{}", position);
    return shorten(labels.of(sample())[position], longest_label);
  }

  std::size_t sample() const {
    if (rank_ < 3 || event_.axes[0] != "batch") return 0;
    return rank_ == 4 ? index_ / event_.tensor->shape[1] : index_;
  }

  double widest_label(std::size_t axis, std::size_t count) const {
    if (axis >= rank_) return 0.0;
    double widest = 0.0;
    for (std::size_t i = 0; i < count; ++i) widest = std::max(widest, text_width(label(axis, i), label_size));
    return widest;
  }

  /// The name of the columns' axis above their labels, that of the rows' beside theirs, upwards.
  std::string axis_names(double left, double top) const {
    const double width = static_cast<double>(keys_) * cells_.side;
    auto names =
        text(left + width / 2, 13.0 + axis_name_room, event_.axes[rank_ - 1], Anchor::middle, "axis");
    if (rank_ > 1) {
      const double height = static_cast<double>(queries_) * cells_.side;
      names += text(12.0, top + height / 2, event_.axes[rank_ - 2], Anchor::middle, "axis", -90.0);
    }
    return names;
  }

  bool are_columns_turned() const { return widest_label(rank_ - 1, keys_) > cells_.side - 4.0; }

  double column_label_room() const {
    return are_columns_turned() ? 0.75 * widest_label(rank_ - 1, keys_) + 10.0 : label_size + 8.0;
  }

  std::string column_label(std::size_t j, double left, double top) const {
    const double x = left + (static_cast<double>(j) + 0.5) * cells_.side;
    return are_columns_turned() ? text(x, top - 6.0, label(rank_ - 1, j), Anchor::start, "label", -45.0)
                                : text(x, top - 6.0, label(rank_ - 1, j), Anchor::middle, "label");
  }

  std::string row(std::size_t i, double left, double top) const {
    const double y = top + static_cast<double>(i) * cells_.side;
    std::string elements;
    if (rank_ > 1)
      elements += text(left - 6.0, y + cells_.side / 2 + 4.0, label(rank_ - 2, i), Anchor::end, "label");
    for (std::size_t j = 0; j < keys_; ++j)
      elements += cell(i, j, left + static_cast<double>(j) * cells_.side, y);
    return elements;
  }

  bool is_mask() const { return event_.tensor->dtype == Dtype::boolean; }

  bool hides(std::size_t offset) const {
    return is_mask() ? event_.tensor->at(offset) == 0.0
                     : is_hidden(event_, index_at(offset, event_.tensor->shape));
  }

  std::string cell(std::size_t i, std::size_t j, double x, double y) const {
    const std::size_t all_queries = rank_ > 1 ? event_.tensor->shape[rank_ - 2] : 1;
    const std::size_t all_keys = event_.tensor->shape[rank_ - 1];
    const auto offset = (index_ * all_queries + i) * all_keys + j;
    const double weight = event_.tensor->at(offset);
    const double place = std::isfinite(weight) ? weight : 0.0;
    const bool is_hidden = hides(offset);
    const auto value = is_hidden ? "hidden" : is_mask() ? "seen" : written(weight, 4);
    auto elements = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\" class=\"cell\">"
        "<title>{} → {}: {}</title></rect>\n",
        x, y, cells_.side, cells_.side, shade(place), rank_ > 1 ? escaped(label(rank_ - 2, i)) : "query",
        escaped(label(rank_ - 1, j)), value);
    if (is_hidden) {
      elements += hatching(x, y, cells_.side);
    } else if (cells_.font_size > 0.0 && !is_mask()) {
      elements += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" class=\"{}\" style=\"font-size: "
          "{:g}px\">{}</text>\n",
          x + cells_.side / 2, y + cells_.side / 2 + 0.36 * cells_.font_size,
          is_dark(place) ? "on-dark" : "on-light", cells_.font_size, written(weight, 2));
    }
    return elements;
  }

  std::string caption() const {
    std::string words;
    std::size_t rest = index_;
    for (std::size_t axis = rank_ > 2 ? rank_ - 2 : 0; axis-- > 0; rest /= event_.tensor->shape[axis])
      words = fmt::format("{} {}", event_.axes[axis], rest % event_.tensor->shape[axis]) +
              (words.empty() ? "" : " · ") + words;
    if (event_.tensor->shape[rank_ - 1] > most_tokens)
      words += fmt::format(" (first {} tokens)", most_tokens);
    return words;
  }

  const Event& event_;
  std::size_t rank_, index_;
  std::size_t queries_, keys_;
  Cells cells_;
};

/// A framed square of that shade, or hatched, and what it means.
Drawing legend_entry(double x, double value, bool is_hatched, std::string_view words) {
  constexpr double side = 12.0;
  auto elements = fmt::format(
      "<rect x=\"{:.1f}\" y=\"0\" width=\"{:g}\" height=\"{:g}\" class=\"frame\" style=\"fill: {}\"/>\n", x,
      side, side, shade(value));
  if (is_hatched) elements += hatching(x, 0.0, side);
  elements += text(x + side + 6.0, side - 1.0, words, Anchor::start, "label");
  return {elements, x + side + 12.0 + text_width(words, label_size), side + 6.0};
}

/// From 0 to 1 for every picture, so that colours can be compared. A weight after dropout may be above 1.
Drawing colour_bar(bool has_hidden) {
  constexpr double length = 200.0, thickness = 12.0;
  constexpr int steps = 40;
  std::string elements;
  for (int i = 0; i < steps; ++i)
    elements += fmt::format("<rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{:g}\" fill=\"{}\"/>\n",
                            i * length / steps, length / steps + 0.5, thickness, shade((i + 0.5) / steps));
  for (const double place : {0.0, 0.5, 1.0})
    elements += text(place * length, thickness + 14.0, fmt::format("{:g}", place), Anchor::middle, "label");
  constexpr std::string_view legend = "weight: one scale from 0 to 1 in all pictures";
  elements += text(length + 16.0, thickness - 1.0, legend, Anchor::start, "label");
  double width = length + 16.0 + text_width(legend, label_size);
  if (has_hidden) {
    const auto hidden = legend_entry(width + 20.0, 0.0, true, "hidden");
    elements += hidden.elements;
    width = hidden.width;
  }
  return {elements, width, thickness + 18.0};
}

Drawing legend_of_masks() {
  const auto seen = legend_entry(0.0, 1.0, false, "may be seen");
  auto hidden = legend_entry(seen.width + 20.0, 0.0, true, "hidden");
  hidden.elements.insert(0, seen.elements);
  return hidden;
}

/// "A heatmap of weights: a row for each query, a column for each key."
std::string description_of(const Event& event) {
  const std::size_t rank = event.axes.size();
  const auto rows = rank > 1 ? fmt::format("a row for each {}, ", event.axes[rank - 2]) : "";
  return fmt::format("A heatmap of {}: {}a column for each {}.", event.id, rows, event.axes[rank - 1]);
}

}  // namespace

Drawing heatmaps(const Event& event) {
  const auto& shape = event.tensor->shape;
  const std::size_t rank = shape.size();
  std::size_t count = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) count *= shape[axis];

  Drawing page;
  double x = 0.0, y = 0.0, row_height = 0.0;
  bool has_hidden = false;
  for (std::size_t index = 0; index < count; ++index) {
    const auto one = Heatmap(event, index).draw();
    has_hidden = has_hidden || one.elements.find("class=\"hidden\"") != std::string::npos;
    if (x > 0.0 && x + one.width > page_width) {
      x = 0.0;
      y += row_height + heatmap_gap;
      row_height = 0.0;
    }
    page.elements += at(x, y, one.elements);
    page.width = std::max(page.width, x + one.width);
    x += one.width + heatmap_gap;
    row_height = std::max(row_height, one.height);
  }
  const auto bar = event.tensor->dtype == Dtype::boolean ? legend_of_masks() : colour_bar(has_hidden);
  page.elements += at(20.0, y + row_height + 18.0, bar.elements);
  page.width = std::max(page.width, bar.width + 20.0);
  page.height = y + row_height + 18.0 + bar.height;
  page.description = description_of(event);
  return page;
}

}  // namespace attn::svg

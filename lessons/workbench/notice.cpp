#include "lessons/workbench/notice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "attn/text/width.hpp"

namespace lessons {

namespace {

/// Shares that differ by less may be the same but for rounding.
constexpr double rounding_of_shares = 1e-5;

/// The key that every query of one head gives its largest share to; nothing where they differ.
std::optional<std::size_t> looked_at_by_all(const attn::Event& weights, std::size_t head) {
  const auto& shape = weights.tensor->shape;
  const auto queries = shape[shape.size() - 2];
  std::optional<std::size_t> common;
  for (std::size_t query = 0; query < queries; ++query) {
    const auto strongest = strongest_in_row(weights, head * queries + query);
    if (common && *common != strongest) return std::nullopt;
    common = strongest;
  }
  return common;
}

}  // namespace

std::size_t strongest_in_row(const attn::Event& weights, std::size_t row) {
  const auto keys = weights.tensor->shape.back();
  std::size_t strongest = 0;
  for (std::size_t key = 1; key < keys; ++key)
    if (weights.tensor->at(row * keys + key) > weights.tensor->at(row * keys + strongest)) strongest = key;
  return strongest;
}

std::string name_along(const attn::Event& event, std::size_t axis, std::size_t index) {
  const auto& labels = event.labels[axis];
  return labels.empty() ? fmt::format("{}", index) : labels.of(0)[index];
}

std::string words_that_cross(const attn::Event& weights, std::size_t words) {
  const auto rank = weights.tensor->shape.size();
  const auto looks_at = [&](std::size_t query) { return strongest_in_row(weights, query); };
  const auto target = [&](std::size_t query) { return name_along(weights, rank - 2, query); };
  const auto source = [&](std::size_t query) { return name_along(weights, rank - 1, looks_at(query)); };
  for (std::size_t query = 0; query + 1 < words; ++query)
    if (looks_at(query) > looks_at(query + 1))
      return fmt::format(
          "The word order differs: \"{}\" looks at \"{}\", and the next word, \"{}\", looks back at \"{}\".",
          target(query), source(query), target(query + 1), source(query + 1));
  return "";
}

std::string strongest_pair(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rank = shape.size(), keys = shape.back(), pairs = shape[rank - 2] * keys;
  std::size_t strongest = 0;
  for (std::size_t i = 0; i < pairs; ++i)
    if (weights.tensor->at(i) > weights.tensor->at(strongest) + rounding_of_shares) strongest = i;
  if (pairs == 0 || !(weights.tensor->at(strongest) > 0.0)) return "";
  return fmt::format("Here \"{}\" looks most at \"{}\" ({:.4f}).",
                     name_along(weights, rank - 2, strongest / keys),
                     name_along(weights, rank - 1, strongest % keys), weights.tensor->at(strongest));
}

std::string heads_look_at(const attn::Event& weights) {
  const auto axis = weights.tensor->shape.size() - 1;
  const auto heads = weights.tensor->shape[axis - 2];
  const auto first = looked_at_by_all(weights, 0);
  bool are_alike = heads > 1 && first;
  for (std::size_t head = 1; head < heads; ++head)
    are_alike = are_alike && looked_at_by_all(weights, head) == first;
  if (are_alike)
    return fmt::format("In {} every word looks most at \"{}\".", heads == 2 ? "both heads" : "each head",
                       name_along(weights, axis, *first));
  std::string text;
  for (std::size_t head = 0; head < heads; ++head) {
    const auto key = looked_at_by_all(weights, head);
    text += fmt::format("{}In head {} ", head == 0 ? "" : " ", head);
    text += key ? fmt::format("every word looks most at \"{}\".", name_along(weights, axis, *key))
                : std::string("the words look at different ones.");
  }
  return text;
}

std::string in_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], attn::display_width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (widths[i] > 0)
        line += line.empty() ? attn::pad_right(row[i], widths[i]) : "  " + attn::pad_left(row[i], widths[i]);
    if (!table.empty()) table += '\n';
    table += line.substr(0, line.find_last_not_of(' ') + 1);
  }
  return table;
}

std::vector<std::optional<std::size_t>> places_shown(std::size_t count, std::size_t most) {
  std::vector<std::optional<std::size_t>> places;
  const std::size_t last = count <= most ? 0 : most / 2, first = count <= most ? count : most - last;
  for (std::size_t i = 0; i < first; ++i) places.emplace_back(i);
  if (last > 0) places.emplace_back();
  for (std::size_t i = count - last; last > 0 && i < count; ++i) places.emplace_back(i);
  return places;
}

std::string as_row_name(const std::string& token) {
  constexpr std::size_t longest = 12;
  return attn::shorten(token, longest);
}

}  // namespace lessons

#include "attn/text/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"

namespace attn {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto from = code_points(a), to = code_points(b);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const auto replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

namespace {

template <class Distance>
std::string nearest_by(Distance distance, const std::vector<std::string>& candidates) {
  return *std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
}

/// In lower case, without what joins words.
std::string joined(std::string_view text) {
  auto word = lower_case(text);
  std::erase_if(word, [](char c) { return c == '-' || c == '_' || c == ' '; });
  return word;
}

/// The smallest distance to the candidate or to what stands between its hyphens.
std::size_t distance_to_part(std::string_view word, std::string_view candidate) {
  const auto whole = lower_case(candidate);
  auto distance = edit_distance(word, joined(candidate));
  for (const auto part : pieces_of(whole, "-")) distance = std::min(distance, edit_distance(word, part));
  return distance;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [&](const std::string& candidate) {
    return edit_distance(lower_case(word), lower_case(candidate));
  };
  return nearest_by(distance, candidates);
}

std::string likely_meant(std::string_view word, const std::vector<std::string>& candidates) {
  const auto part = joined(word);
  for (const bool may_be_inside : {false, true})
    for (const auto& candidate : candidates) {
      const auto place = joined(candidate).find(part);
      if (place == 0 || (may_be_inside && place != std::string::npos)) return candidate;
    }
  for (const auto& candidate : candidates)
    if (const auto whole = joined(candidate); 2 * whole.size() >= part.size() && part.starts_with(whole))
      return candidate;
  const auto distance = [&](const std::string& candidate) { return distance_to_part(part, candidate); };
  return nearest_by(distance, candidates);
}

std::string valid_instead_of(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = likely_meant(word, candidates);
  const auto part = joined(word);
  const bool is_inside = !part.empty() && joined(meant).find(part) != std::string::npos;
  const bool is_near = 2 * distance_to_part(part, meant) <= code_points(part).size() && !part.empty();
  return fmt::format("{}valid: {}", is_inside || is_near ? "did you mean " + meant + "? " : "",
                     fmt::join(candidates, ", "));
}

}  // namespace attn

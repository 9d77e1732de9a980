#include "attn/text/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [&](const std::string& candidate) {
    return edit_distance(lower_case(word), lower_case(candidate));
  };
  return *std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
}

std::string likely_meant(std::string_view word, const std::vector<std::string>& candidates) {
  const auto part = lower_case(word);
  for (const bool may_be_inside : {false, true})
    for (const auto& candidate : candidates) {
      const auto place = lower_case(candidate).find(part);
      if (place == 0 || (may_be_inside && place != std::string::npos)) return candidate;
    }
  return nearest(word, candidates);
}

}  // namespace attn

#include "lessons/workbench/notice.hpp"

#include <fmt/format.h>

namespace lessons {

namespace {

/// Shares that differ by less may be the same but for rounding.
constexpr double rounding_of_shares = 1e-5;

}  // namespace

std::string name_along(const attn::Event& event, std::size_t axis, std::size_t index) {
  const auto& labels = event.labels[axis];
  return labels.empty() ? fmt::format("{}", index) : labels.of(0)[index];
}

std::string nothing_to_notice(const attn::Event&) {
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

}  // namespace lessons

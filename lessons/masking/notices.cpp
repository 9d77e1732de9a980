#include "lessons/masking/notices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// "0.3607, 0.1407"
std::string in_words_of_row(const Tensor<2>& weights, std::size_t row) {
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < weights.shape(1); ++j)
    numbers.push_back(fmt::format("{:.4f}", weights(row, j)));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace

std::string share_with_and_without(const attn::Event& weights, const Tensor<3>& scaled) {
  const auto n = weights.tensor->shape.back();
  const auto all = attn::softmax(attn::sample(scaled, 0));
  const auto gain = [&](std::size_t pair) { return weights.tensor->at(pair) - all(pair / n, pair % n); };
  std::size_t most = 0;
  double largest = 1e-3;
  for (std::size_t pair = n; pair < n * n; ++pair)
    if (weights.tensor->at(pair) <= 1.0 - 1e-3 && gain(pair) > largest) {
      most = pair;
      largest = gain(pair);
    }
  if (most == 0) return "Hidden keys get exactly 0, and the others share what they leave.";
  const auto row = most / n;
  double seen = 0.0;
  for (std::size_t k = 0; k < n; ++k)
    if (weights.tensor->at(row * n + k) > 0.0) seen += all(row, k);
  return fmt::format(
      "Hidden keys get exactly 0. The others keep their proportions and grow to a sum of 1: \"{0}\" gives "
      "\"{1}\" {2:.4f} instead of {3:.4f} (its row without a mask: {4}). Setting hidden weights to 0 only "
      "after softmax would not do: this row would sum to {5:.4f}, not 1, and have to be divided again.",
      name_along(weights, weights.axes.size() - 2, row),
      name_along(weights, weights.axes.size() - 1, most % n), weights.tensor->at(most), all(row, most % n),
      in_words_of_row(all, row), seen);
}

std::string what_the_mask_takes_away(const attn::Event& weights, const Tensor<3>& scaled) {
  const auto n = weights.tensor->shape.back();
  const auto all = attn::softmax(attn::sample(scaled, 0));
  std::size_t most = 0;
  double taken = 0.0;
  for (std::size_t pair = 0; pair < n * n; ++pair)
    if (weights.tensor->at(pair) == 0.0 && all(pair / n, pair % n) > taken) {
      most = pair;
      taken = all(pair / n, pair % n);
    }
  if (taken < 0.5) return "";
  return fmt::format(
      " The model was trained without a mask: there \"{0}\" gave \"{1}\" {2:.4f}, as \"{1}\" decides how "
      "\"{0}\" is said in French. Now it cannot. A model that is to work under a mask is trained under it "
      "(lesson generate).",
      name_along(weights, weights.axes.size() - 2, most / n),
      name_along(weights, weights.axes.size() - 1, most % n), taken);
}

}  // namespace lessons

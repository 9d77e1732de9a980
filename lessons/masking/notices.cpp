#include "lessons/masking/notices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// "0.3607, 0.1407"
std::string in_words_of_row(const Tensor<2>& weights, std::size_t row) {
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < weights.shape(1); ++j)
    numbers.push_back(fmt::format("{:.4f}", weights(row, j)));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

/// `the row of "the" is 0.0707, 0.9293`, or `"the" gives "girls" 0.0707` where the row is long.
std::string row_or_share(const attn::Event& event, const Tensor<2>& weights, std::size_t row,
                         std::size_t key) {
  constexpr std::size_t most = 8;
  const auto query = name_along(event, event.axes.size() - 2, row);
  if (weights.shape(1) <= most)
    return fmt::format("the row of \"{}\" is {}", query, in_words_of_row(weights, row));
  return fmt::format("\"{}\" gives \"{}\" {:.4f}", query, name_along(event, event.axes.size() - 1, key),
                     double{weights(row, key)});
}

}  // namespace

std::optional<attn::Index> pair_that_gains_most(const Tensor<3>& weights, const Tensor<3>& scaled,
                                                std::size_t tokens) {
  const auto all = attn::softmax(attn::sample(scaled, 0));
  const auto n = all.shape(1);
  std::optional<attn::Index> most;
  double largest = 1e-3;
  for (std::size_t i = 1; i < tokens; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double gain = weights(0, i, j) - all(i, j);
      if (weights(0, i, j) > 1.0 - 1e-3 || gain <= largest) continue;
      most = attn::Index{i, j};
      largest = gain;
    }
  return most;
}

std::string share_with_and_without(const attn::Event& weights, const Tensor<3>& under_mask,
                                   const Tensor<3>& scaled, std::size_t tokens) {
  const auto pair = pair_that_gains_most(under_mask, scaled, tokens);
  if (!pair) return "Hidden keys get exactly 0, and the others share what they leave.";
  const auto row = (*pair)[0], key = (*pair)[1];
  const auto all = attn::softmax(attn::sample(scaled, 0));
  double seen = 0.0;
  for (std::size_t k = 0; k < all.shape(1); ++k)
    if (under_mask(0, row, k) > 0.0) seen += all(row, k);
  const double share = all(row, key), quotient = under_mask(0, row, key);
  const auto digits = [](double number) { return attn::worked_number({{}, number}, 6); };
  return fmt::format(
      "Without a mask {}. The keys that \"{}\" may see add up to {} there. Divided by that, they add up to "
      "1: \"{}\" gets {} / {} ≈ {:.4f}. To set weights to 0 after softmax skips this division: the row would "
      "sum to {:.4f}, not 1.",
      row_or_share(weights, all, row, key), name_along(weights, weights.axes.size() - 2, row), digits(seen),
      name_along(weights, weights.axes.size() - 1, key), digits(share), digits(seen), quotient, seen);
}

std::string share_under_padding(const attn::Event& weights, const Tensor<3>& under_mask,
                                const Tensor<3>& scaled, std::size_t tokens) {
  const auto pair = pair_that_gains_most(under_mask, scaled, tokens);
  const std::string all_share = "Under the padding mask each query shares among all keys but the padding";
  if (!pair) return all_share + '.';
  const auto row = (*pair)[0], key = (*pair)[1];
  return fmt::format("{}: {}.", all_share, row_or_share(weights, attn::sample(under_mask, 0), row, key));
}

std::string what_the_mask_takes_away(const attn::Event& weights, const Tensor<3>& under_mask,
                                     const Tensor<3>& scaled, std::size_t tokens) {
  const auto pair = pair_that_gains_most(under_mask, scaled, tokens);
  if (!pair) return "";
  const auto row = (*pair)[0];
  const auto all = attn::softmax(attn::sample(scaled, 0));
  std::size_t most = 0;
  double taken = 0.0;
  for (std::size_t key = 0; key < all.shape(1); ++key)
    if (under_mask(0, row, key) == 0.0 && all(row, key) > taken) {
      most = key;
      taken = all(row, key);
    }
  if (taken < 0.5) return "";
  const auto key_name = [&](std::size_t key) { return name_along(weights, weights.axes.size() - 1, key); };
  return fmt::format(
      "\nWithout the mask \"{1}\" looks at \"{0}\" ({2:.2f}), which is now hidden. The model was trained "
      "under this mask, too: a word whose answer is hidden is to look at itself.",
      key_name(most), name_along(weights, weights.axes.size() - 2, row), taken);
}

}  // namespace lessons

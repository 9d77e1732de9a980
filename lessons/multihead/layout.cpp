#include "lessons/multihead/layout.hpp"

#include <fmt/format.h>

#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "lessons/trained/about.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

std::string what_heads_disagree_on(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto axis = shape.size() - 1;
  const std::size_t keys = shape[axis], queries = shape[axis - 1], heads = shape[axis - 2];
  const auto share = [&](std::size_t head, std::size_t query, std::size_t key) {
    return weights.tensor->at((head * queries + query) * keys + key);
  };
  for (std::size_t query = 0; heads > 1 && query < queries; ++query) {
    const auto first = strongest_in_row(weights, query), second = strongest_in_row(weights, queries + query);
    const auto first_name = name_along(weights, axis, first), second_name = name_along(weights, axis, second);
    if (first_name == second_name) continue;
    return fmt::format("In head 0 \"{}\" looks most at \"{}\" ({:.4f}), in head 1 at \"{}\" ({:.4f}).",
                       name_along(weights, axis - 1, query), first_name, share(0, query, first), second_name,
                       share(1, query, second));
  }
  return strongest_pair(weights);
}

std::string heads_of_sentiment() {
  constexpr double least_shown = 0.05;
  const auto layer = layers_of_model("sentiment").front();
  const Tensor<3> received = xt::mean(layer.weights, {2});
  std::vector<std::vector<std::string>> rows = {{""}};
  for (std::size_t head = 0; head < received.shape(1); ++head) rows.push_back({fmt::format("head {}", head)});
  for (std::size_t key = 0; key < layer.keys.size(); ++key) {
    if (xt::amax(xt::view(received, 0, xt::all(), key))() < least_shown) continue;
    rows.front().push_back(layer.keys[key]);
    for (std::size_t head = 0; head < received.shape(1); ++head)
      rows[head + 1].push_back(fmt::format("{:.2f}", received(0, head, key)));
  }
  return in_columns(rows);
}

}  // namespace lessons

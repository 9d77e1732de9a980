#include "lessons/multihead/layout.hpp"

#include <fmt/format.h>

#include "lessons/trained/about.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// "columns 4 to 7", "column 1": those of one of the parts that stand side by side.
std::string columns_of_part(std::size_t part, std::size_t width) {
  return width == 1 ? fmt::format("column {}", part)
                    : fmt::format("columns {} to {}", part * width, (part + 1) * width - 1);
}

/// "head 1: columns 4 to 7 of W_Q and W_K, 8 to 15 of W_V"
std::string columns_of_head(const Workbench& bench, std::size_t head) {
  const auto kv = head * bench.kv_heads() / bench.heads();
  const auto of_Q = columns_of_part(head, bench.d_k());
  const auto without_word = [&](const std::string& columns) {
    constexpr std::string_view word = "columns ";
    return of_Q.starts_with(word) && columns.starts_with(word) ? columns.substr(word.size()) : columns;
  };
  const auto start = fmt::format("head {}: {} of W_Q", head, of_Q);
  const auto range = without_word(of_Q), of_K = without_word(columns_of_part(kv, bench.d_k())),
             of_V = without_word(columns_of_part(kv, bench.d_v()));
  if (range == of_K && of_K == of_V) return start + ", W_K and W_V";
  if (range == of_K) return start + fmt::format(" and W_K, {} of W_V", of_V);
  return start + fmt::format(", {} of W_K", of_K) +
         (of_K == of_V ? " and W_V" : fmt::format(", {} of W_V", of_V));
}

}  // namespace

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

std::string what_trained_heads_look_for(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto rows = shape[shape.size() - 2];
  std::size_t alike = 0, queries = 0;
  for (std::size_t query = 0; query < rows; ++query) {
    if (name_along(weights, shape.size() - 2, query) == "<pad>") continue;
    ++queries;
    alike += strongest_in_row(weights, query) == strongest_in_row(weights, rows + query) ? 1 : 0;
  }
  return fmt::format(
      "{} This is head 0, the only one that training told where to look. Head 1 has the same "
      "strongest key in {}.",
      who_is_about_whom(weights),
      alike == queries ? "every row" : fmt::format("{} of {} rows", alike, queries));
}

std::string columns_of_weights(const Workbench& bench) {
  const auto h = bench.heads();
  return columns_of_head(bench, 0) + (h == 1 ? "" : "\n" + columns_of_head(bench, h - 1));
}

}  // namespace lessons

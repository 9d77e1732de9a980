#include "lessons/self_attention/mistakes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"

namespace lessons {

namespace {

/// The weights side by side, [d_model×(sum of the widths)], and below them the biases, or zeros.
Tensor<2> fused(const std::vector<LinearMap>& all) {
  std::size_t width = 0;
  for (const auto& map : all) width += map.W.shape(1);
  const auto rows = all.front().W.shape(0);
  auto result = Tensor<2>::from_shape({rows + 1, width});
  for (std::size_t row = 0; row <= rows; ++row) {
    auto* to = &result(row, 0);
    for (const auto& map : all) {
      const auto count = map.W.shape(1);
      if (row < rows)
        to = std::copy_n(&map.W(row, 0), count, to);
      else
        to = map.b ? std::copy_n(map.b->data(), count, to) : std::fill_n(to, count, 0.0);
    }
  }
  return result;
}

/// The columns of a fused weight in the order in which it has them, by their places in Q, K and V side by
/// side.
using Packing = std::vector<std::size_t>;

/// Of each group of heads its queries, then its keys, then its values; with one group all queries first.
Packing packed(const std::vector<LinearMap>& all, const std::array<std::size_t, 3>& order,
               std::size_t groups = 1) {
  std::vector<std::size_t> begins = {0};
  for (const auto& map : all) begins.push_back(begins.back() + map.W.shape(1));
  Packing packing;
  for (std::size_t group = 0; group < groups; ++group)
    for (const auto part : order) {
      const auto width = all[part].W.shape(1) / groups;
      for (std::size_t i = 0; i < width; ++i) packing.push_back(begins[part] + group * width + i);
    }
  return packing;
}

/// The columns that part `own` gets of a fused weight where it is cut as if it were packed otherwise.
Tensor<2> cut(const std::vector<LinearMap>& all, std::size_t own, const Packing& is,
              const Packing& believed) {
  const auto whole = fused(all);
  std::size_t begin = 0;
  for (std::size_t part = 0; part < own; ++part) begin += all[part].W.shape(1);
  const auto width = all[own].W.shape(1);
  auto columns = Tensor<2>::from_shape({whole.shape(0), width});
  for (std::size_t place = 0; place < is.size(); ++place)
    if (believed[place] >= begin && believed[place] < begin + width)
      for (std::size_t row = 0; row < whole.shape(0); ++row)
        columns(row, believed[place] - begin) = whole(row, is[place]);
  return columns;
}

/// X times all rows but the last, which is added.
Tensor<3> linear_with_last_row(const Tensor<3>& X, const Tensor<2>& fused) {
  const auto rows = fused.shape(0) - 1;
  return attn::linear(X, attn::rows(fused, 0, rows), attn::row(fused, rows));
}

constexpr std::array<std::size_t, 3> queries_keys_values = {0, 1, 2};
constexpr std::array<std::array<std::size_t, 3>, 5> wrong_orders = {
    {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

}  // namespace

Tensor<2> read_as_transposed(const Tensor<2>& W) {
  auto other = Tensor<2>::from_shape({W.shape(1), W.shape(0)});
  std::copy(W.begin(), W.end(), other.begin());
  return attn::transpose(other);
}

attn::Mistakes mistakes_of_bias(const Tensor<3>& X, const std::string& name, const LinearMap& map) {
  if (!map.b) return {};
  const auto dropped = [&X, map] { return attn::linear(X, map.W); };
  return {{"bias-missing", dropped}, {"bias-missing:" + name, dropped}};
}

attn::Mistakes mistakes_of_projection(const Tensor<3>& X, const std::vector<LinearMap>& all, std::size_t own,
                                      std::size_t groups) {
  const auto* const names = "QKV";
  auto mistakes = mistakes_of_bias(X, std::string(1, names[own]), all[own]);
  for (const auto* id : {"weight-transposed", "weight-transposed:projections"})
    mistakes.emplace_back(id, [&X, map = all[own]] {
      return LinearMap{read_as_transposed(map.W), map.b}(X);
    });
  for (std::size_t other = 0; other < all.size(); ++other)
    if (other != own)
      mistakes.emplace_back(std::string("wrong-projection:") + names[own] + names[other],
                            [&X, map = all[other]] { return map(X); });
  const auto add_layout = [&](const std::string& name, const Packing& is, const Packing& believed) {
    if (is != believed)
      mistakes.emplace_back("qkv-layout:" + name,
                            [=, &X] { return linear_with_last_row(X, cut(all, own, is, believed)); });
  };
  const auto in_thirds = packed(all, queries_keys_values),
             by_group = packed(all, queries_keys_values, groups);
  for (const auto& order : wrong_orders) {
    std::string name;
    for (const auto part : order) name += names[part];
    add_layout(name, in_thirds, packed(all, order));
  }
  add_layout("by-group-cut-in-thirds", by_group, in_thirds);
  add_layout("in-thirds-cut-by-group", in_thirds, by_group);
  return mistakes;
}

attn::Mistakes mistakes_of_keys_or_values(const Named& X_query, const Named& X_key,
                                          const std::vector<LinearMap>& all, std::size_t own,
                                          std::size_t groups) {
  auto mistakes = mistakes_of_projection(X_key.tensor, all, own, groups);
  if (X_query.id != X_key.id)
    mistakes.emplace_back("cross-attends-itself", [&X = X_query.tensor, map = all[own]] { return map(X); });
  return mistakes;
}

attn::Mistakes mistakes_of_queries(const Tensor<3>& X, const std::vector<LinearMap>& all, double divisor,
                                   std::size_t groups) {
  auto mistakes = mistakes_of_projection(X, all, 0, groups);
  const auto over = [&X, map = all[0]](double by) { return [=, &X] { return attn::divide(map(X), by); }; };
  mistakes.emplace_back("scale-in-weights", over(divisor));
  mistakes.emplace_back("scale-twice:queries", over(divisor));
  mistakes.emplace_back("scale-in-weights:split", over(std::sqrt(divisor)));
  mistakes.emplace_back("scale-twice:split", over(std::sqrt(divisor)));
  return mistakes;
}

attn::Mistakes mistakes_of_keys(const Named& X_query, const Named& X_key, const std::vector<LinearMap>& all,
                                double divisor, std::size_t groups) {
  auto mistakes = mistakes_of_keys_or_values(X_query, X_key, all, 1, groups);
  const auto split = [&X = X_key.tensor, map = all[1], divisor] {
    return attn::divide(map(X), std::sqrt(divisor));
  };
  mistakes.emplace_back("scale-in-weights:split", split);
  mistakes.emplace_back("scale-twice:split", split);
  return mistakes;
}

}  // namespace lessons

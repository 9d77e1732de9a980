#include "lessons/self_attention/mistakes.hpp"

#include <algorithm>
#include <array>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"

namespace lessons {

namespace {

/// The weights side by side: [d_model×(sum of the widths)].
Tensor<2> fused_weights(const std::vector<const Tensor<2>*>& all) {
  std::size_t width = 0;
  for (const auto* W : all) width += W->shape(1);
  auto fused = Tensor<2>::from_shape({all.front()->shape(0), width});
  for (std::size_t row = 0; row < fused.shape(0); ++row) {
    auto* to = &fused(row, 0);
    for (const auto* W : all) to = std::copy_n(&(*W)(row, 0), W->shape(1), to);
  }
  return fused;
}

/// The columns of the fused weights that part `own` gets where the parts are taken for being in another
/// order.
Tensor<2> cut_in_order(const std::vector<const Tensor<2>*>& all, std::size_t own,
                       const std::array<std::size_t, 3>& order) {
  std::size_t begin = 0;
  for (const auto part : order) {
    const auto width = all[part]->shape(1);
    if (part == own) return attn::columns(fused_weights(all), begin, begin + width);
    begin += width;
  }
  return *all[own];
}

constexpr std::array<std::array<std::size_t, 3>, 5> wrong_orders = {
    {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

}  // namespace

Tensor<2> read_as_transposed(const Tensor<2>& W) {
  auto other = Tensor<2>::from_shape({W.shape(1), W.shape(0)});
  std::copy(W.begin(), W.end(), other.begin());
  return attn::transpose(other);
}

attn::Mistakes mistakes_of_projection(const Tensor<3>& X, const std::vector<const Tensor<2>*>& all,
                                      std::size_t own) {
  const auto* const names = "QKV";
  attn::Mistakes mistakes = {
      {"weight-transposed", [&X, W = all[own]] { return attn::linear(X, read_as_transposed(*W)); }}};
  for (std::size_t other = 0; other < all.size(); ++other)
    if (other != own)
      mistakes.emplace_back(std::string("wrong-projection:") + names[own] + names[other],
                            [&X, W = all[other]] { return attn::linear(X, *W); });
  for (const auto& order : wrong_orders) {
    std::string name = "qkv-layout:";
    for (const auto part : order) name += names[part];
    mistakes.emplace_back(name,
                          [&X, all, own, order] { return attn::linear(X, cut_in_order(all, own, order)); });
  }
  return mistakes;
}

attn::Mistakes mistakes_of_keys_or_values(const Named& X_query, const Named& X_key,
                                          const std::vector<const Tensor<2>*>& all, std::size_t own) {
  auto mistakes = mistakes_of_projection(X_key.tensor, all, own);
  if (X_query.id != X_key.id)
    mistakes.emplace_back("cross-attends-itself",
                          [&X = X_query.tensor, W = all[own]] { return attn::linear(X, *W); });
  return mistakes;
}

attn::Mistakes mistakes_of_queries(const Tensor<3>& X, const std::vector<const Tensor<2>*>& all,
                                   double divisor) {
  auto mistakes = mistakes_of_projection(X, all, 0);
  mistakes.emplace_back("scale-in-weights",
                        [&X, W = all[0], divisor] { return attn::divide(attn::linear(X, *W), divisor); });
  return mistakes;
}

}  // namespace lessons

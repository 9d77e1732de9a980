#include "attn/ops/mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// Lengths of the axes batch, head, query and key; 1 for an axis that is missing.
template <std::size_t N>
std::array<std::size_t, 4> four_axes(const std::array<std::size_t, N>& shape) {
  if constexpr (N == 2)
    return {1, 1, shape[0], shape[1]};
  else if constexpr (N == 3)
    return {shape[0], 1, shape[1], shape[2]};
  else
    return shape;
}

/// Whether the mask's axes, those of length 1 repeated, are those of the scores.
template <std::size_t N, std::size_t M>
bool fits(const Mask<M>& mask, const Tensor<N>& scores) {
  const auto mask_shape = four_axes(mask.shape());
  const auto scores_shape = four_axes(scores.shape());
  return std::equal(
      mask_shape.begin(), mask_shape.end(), scores_shape.begin(),
      [](std::size_t length, std::size_t expected) { return length == expected || length == 1; });
}

/// The element for one score. Along an axis of length 1 xtensor takes every index for 0.
template <std::size_t M>
bool at(const Mask<M>& mask, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  if constexpr (M == 2)
    return mask(i, j);
  else if constexpr (M == 3)
    return mask(b, i, j);
  else
    return mask(b, h, i, j);
}

/// 0, 1, … as a column, and as a row.
auto query_positions(std::size_t n_q) {
  return xt::view(xt::arange(n_q), xt::all(), xt::newaxis());
}
auto key_positions(std::size_t n_k) {
  return xt::view(xt::arange(n_k), xt::newaxis());
}

}  // namespace

Mask<2> causal_mask(std::size_t n_q, std::size_t n_k) {
  return key_positions(n_k) + n_q <= query_positions(n_q) + n_k;
}

Mask<2> window_mask(std::size_t n_q, std::size_t n_k, std::size_t window) {
  const Integers<2> query = query_positions(n_q) + n_k, key = key_positions(n_k) + n_q;
  return xt::abs(query - key) <= window;
}

Mask<3> padding_mask(const std::vector<std::size_t>& lengths, std::size_t n_q, std::size_t n_k) {
  Mask<3> mask({lengths.size(), n_q, n_k});
  for (std::size_t b = 0; b < lengths.size(); ++b) xt::view(mask, b) = xt::arange(n_k) < lengths[b];
  return mask;
}

Mask<3> repeat_mask(const Mask<2>& mask, std::size_t batch) {
  return xt::broadcast(mask, {batch, mask.shape(0), mask.shape(1)});
}

bool has_empty_row(const Mask<3>& mask) {
  for (auto row = mask.begin(); row != mask.end(); row += static_cast<std::ptrdiff_t>(mask.shape(2)))
    if (std::none_of(row, row + static_cast<std::ptrdiff_t>(mask.shape(2)), [](bool sees) { return sees; }))
      return true;
  return false;
}

template <std::size_t N>
Mask<N> both(const Mask<N>& a, const Mask<N>& b) requires Rank<N, 2, 4> {
  if (a.shape() != b.shape()) throw shape_mismatch("both", "a", a, "b", b, "the shapes must be equal");
  return a && b;
}

template <std::size_t N, std::size_t M>
Tensor<N> apply_mask(Tensor<N> scores, const Mask<M>& mask,
                     double fill) requires Rank<N, 2, 4> && Rank<M, 2, N> {
  if (!fits(mask, scores))
    throw shape_mismatch("apply_mask", "scores", scores, "mask", mask,
                         "batch, head, query and key must match or have length 1 in the mask");
  const auto [batch, heads, n_q, n_k] = four_axes(scores.shape());
  double* score = scores.data();
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < n_q; ++i)
        for (std::size_t j = 0; j < n_k; ++j, ++score)
          if (!at(mask, b, h, i, j)) *score = fill;
  return scores;
}

template Tensor<2> apply_mask(Tensor<2>, const Mask<2>&, double);
template Tensor<3> apply_mask(Tensor<3>, const Mask<2>&, double);
template Tensor<3> apply_mask(Tensor<3>, const Mask<3>&, double);
template Tensor<4> apply_mask(Tensor<4>, const Mask<2>&, double);
template Tensor<4> apply_mask(Tensor<4>, const Mask<3>&, double);
template Tensor<4> apply_mask(Tensor<4>, const Mask<4>&, double);
template Mask<2> both(const Mask<2>&, const Mask<2>&);
template Mask<3> both(const Mask<3>&, const Mask<3>&);
template Mask<4> both(const Mask<4>&, const Mask<4>&);

template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4> {
  if (!(p >= 0.0 && p < 1.0))
    throw std::invalid_argument(
        fmt::format("[dropout_mask] p is {}: it must be at least 0 and less than 1", p));
  Integers<N> mask(shape);
  for (auto& kept : mask) kept = random.binomial(1, 1.0 - p);
  return mask;
}

#define INSTANTIATE(N) template Integers<N> dropout_mask(Random&, double, const std::array<std::size_t, N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn

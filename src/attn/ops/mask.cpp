#include "attn/ops/mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/tensor.hpp"

namespace attn {

namespace {

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

Mask<3> both(const Mask<3>& a, const Mask<3>& b) {
  if (a.shape() != b.shape()) throw shape_mismatch("both", "a", a, "b", b, "the shapes must be equal");
  return a && b;
}

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

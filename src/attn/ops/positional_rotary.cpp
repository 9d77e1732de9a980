#include "attn/ops/positional_rotary.hpp"

#include <cstddef>
#include <utility>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"

namespace attn {

namespace {

/// The two indices of pair i.
std::pair<std::size_t, std::size_t> indices_of(std::size_t i, std::size_t pairs, Pairing pairing) {
  if (pairing == Pairing::adjacent) return {2 * i, 2 * i + 1};
  return {i, i + pairs};
}

}  // namespace

Tensor<3> rotate_pairs(const Tensor<3>& x, const Tensor<2>& angles, Pairing pairing) {
  const std::size_t n = x.shape(1), d = x.shape(2), pairs = angles.shape(1);
  if (angles.shape(0) < n || 2 * pairs != d)
    throw shape_mismatch("rotate_pairs", "x", x, "angles", angles,
                         "every position needs an angle for each pair of numbers");
  const bool is_adjacent = pairing == Pairing::adjacent;
  const auto numbers = [&](auto& of, std::size_t first) {
    return xt::view(of, xt::all(), xt::all(),
                    xt::range(first, is_adjacent ? d : first + pairs, is_adjacent ? 2 : 1));
  };
  const std::size_t second = is_adjacent ? 1 : pairs;
  const Tensor<2> turned_by = attn::rows(angles, 0, n), cosine = xt::cos(turned_by),
                  sine = xt::sin(turned_by);
  const auto u = numbers(x, 0), v = numbers(x, second);
  Tensor<3> rotated(x.shape());
  numbers(rotated, 0) = u * cosine - v * sine;
  numbers(rotated, second) = u * sine + v * cosine;
  return rotated;
}

WorkedOut worked_rotate_pairs(WorkedOut x, Known<2> angles, Pairing pairing) {
  return [=](const Index& at) {
    const std::size_t pairs = angles.tensor.shape(1);
    const std::size_t i = pairing == Pairing::adjacent ? at.back() / 2 : at.back() % pairs;
    const auto [first, second] = indices_of(i, pairs, pairing);
    auto at_first = at, at_second = at;
    at_first.back() = first;
    at_second.back() = second;
    const auto u = x(at_first), v = x(at_second), angle = angles({at[at.size() - 2], i});
    if (at.back() == first) return Worked::product({u, cos(angle)}) - Worked::product({v, sin(angle)});
    return Worked::sum({Worked::product({u, sin(angle)}), Worked::product({v, cos(angle)})});
  };
}

}  // namespace attn

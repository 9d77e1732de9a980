#include "attn/ops/positional_rotary.hpp"

#include <cstddef>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"

namespace attn {

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

}  // namespace attn

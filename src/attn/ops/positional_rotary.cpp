#include "attn/ops/positional_rotary.hpp"

#include <cmath>
#include <utility>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// The two indices of pair i.
std::pair<std::size_t, std::size_t> indices_of(std::size_t i, std::size_t pairs, Pairing pairing) {
  if (pairing == Pairing::adjacent) return {2 * i, 2 * i + 1};
  return {i, i + pairs};
}

}  // namespace

Tensor<3> rotate_pairs(const Tensor<3>& x, const Tensor<2>& angles, Pairing pairing) {
  const std::size_t pairs = angles.shape(1);
  if (angles.shape(0) < x.shape(1) || 2 * pairs != x.shape(2))
    throw shape_mismatch("rotate_pairs", "x", x, "angles", angles,
                         "every position needs an angle for each pair of numbers");
  Tensor<3> rotated(x.shape());
  for (std::size_t p = 0; p < x.shape(1); ++p)
    for (std::size_t i = 0; i < pairs; ++i) {
      const double cosine = std::cos(angles(p, i)), sine = std::sin(angles(p, i));
      const auto [first, second] = indices_of(i, pairs, pairing);
      for (std::size_t b = 0; b < x.shape(0); ++b) {
        const double u = x(b, p, first), v = x(b, p, second);
        rotated(b, p, first) = u * cosine - v * sine;
        rotated(b, p, second) = u * sine + v * cosine;
      }
    }
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

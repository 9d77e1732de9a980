#include "attn/ops/positional_rotary.hpp"

#include <cmath>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
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
        const auto u = static_cast<double>(x(b, p, first)), v = static_cast<double>(x(b, p, second));
        rotated(b, p, first) = static_cast<double>(u * cosine - v * sine);
        rotated(b, p, second) = static_cast<double>(u * sine + v * cosine);
      }
    }
  return rotated;
}

RotaryScores rotary_scores(const Tensor<3>& Q, const Tensor<3>& K, Pairing pairing) {
  if (Q.shape() != K.shape())
    throw shape_mismatch("rotary_scores", "Q", Q, "K", K, "the shapes must be equal");
  const auto angles = position_angles(Q.shape(1), Q.shape(2));
  RotaryScores rotary;
  rotary.angles = angles;
  rotary.Q_rotated = rotate_pairs(Q, angles, pairing);
  rotary.K_rotated = rotate_pairs(K, angles, pairing);
  rotary.scores = divide(matmul(rotary.Q_rotated, attn::transpose(rotary.K_rotated)),
                         std::sqrt(static_cast<double>(Q.shape(2))));
  return rotary;
}


}  // namespace attn

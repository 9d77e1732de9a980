#include "lessons/positional/measure.hpp"

#include <cmath>

#include "attn/ops/measure.hpp"
#include "attn/ops/positional_rotary.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"

namespace lessons {

namespace {

double length_of_row(const Tensor<3>& x, std::size_t b, std::size_t i) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.shape(2); ++j) sum += x(b, i, j) * x(b, i, j);
  return std::sqrt(sum);
}

}  // namespace

double change_by_order(const Tensor<4>& scores, const Tensor<4>& reordered, const attn::RowOrder& order) {
  if (scores.shape() != reordered.shape())
    throw attn::shape_mismatch("change_by_order", "scores", scores, "reordered", reordered,
                               "the shapes must be equal");
  Tensor<4> same_pairs(scores.shape());
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t h = 0; h < scores.shape(1); ++h)
      for (std::size_t i = 0; i < scores.shape(2); ++i)
        for (std::size_t j = 0; j < scores.shape(3); ++j)
          same_pairs(b, h, i, j) = scores(b, h, order[b][i], order[b][j]);
  return attn::max_abs_difference(reordered, same_pairs);
}

double change_by_moving(const Tensor<4>& scores, const Tensor<4>& twice) {
  const std::size_t n = scores.shape(2);
  if (scores.shape(3) != n || twice.shape() != std::array{scores.shape(0), scores.shape(1), 2 * n, 2 * n})
    throw attn::shape_mismatch("change_by_moving", "scores", scores, "twice", twice,
                               "the second must have twice as many queries and keys");
  Tensor<4> second_half(scores.shape());
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t h = 0; h < scores.shape(1); ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) second_half(b, h, i, j) = twice(b, h, n + i, n + j);
  return attn::max_abs_difference(second_half, scores);
}

double deviation_from_rotation(const Tensor<2>& encoding, const Tensor<2>& longer, std::size_t k) {
  const std::size_t n = encoding.shape(0), d = encoding.shape(1);
  if (longer.shape(0) < n + k || longer.shape(1) != d)
    throw attn::shape_mismatch("deviation_from_rotation", "encoding", encoding, "longer", longer,
                               "the second must have k more rows of the same length");
  const auto frequencies = attn::position_frequencies(d);
  Tensor<2> clockwise({n, frequencies.size()});
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t i = 0; i < frequencies.size(); ++i)
      clockwise(p, i) = -static_cast<double>(k) * frequencies(i);
  const auto turned = attn::rotate_pairs(attn::as_batch(encoding), clockwise, attn::Pairing::adjacent);
  return attn::max_abs_difference(turned, attn::as_batch(attn::rows(longer, k, k + n)));
}

double change_of_length(const Tensor<3>& x, const Tensor<3>& y) {
  if (x.shape() != y.shape())
    throw attn::shape_mismatch("change_of_length", "x", x, "y", y, "the shapes must be equal");
  Tensor<2> change({x.shape(0), x.shape(1)});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < x.shape(1); ++i)
      change(b, i) = length_of_row(x, b, i) - length_of_row(y, b, i);
  return attn::max_abs(change);
}

}  // namespace lessons

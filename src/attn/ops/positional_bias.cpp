#include "attn/ops/positional_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// |i − j|.
double distance(std::size_t i, std::size_t j) {
  return static_cast<double>(std::max(i, j) - std::min(i, j));
}

}  // namespace

std::int64_t t5_bucket(std::int64_t distance) {
  constexpr std::int64_t per_direction = t5_bucket_count / 2, exact = per_direction / 2, farthest = 128;
  const std::int64_t first = distance > 0 ? per_direction : 0, length = std::abs(distance);
  if (length < exact) return first + length;
  // log2 is exact for powers of two, where a bucket begins.
  const double growth = std::log2(static_cast<double>(length) / exact) /
                        std::log2(static_cast<double>(farthest) / exact) * (per_direction - exact);
  return first + std::min(exact + static_cast<std::int64_t>(growth), per_direction - 1);
}

Integers<2> t5_buckets(std::size_t n) {
  Integers<2> buckets({n, n});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      buckets(i, j) = t5_bucket(static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i));
  return buckets;
}

Tensor<3> t5_bias(const Tensor<2>& table, const Integers<2>& buckets) {
  if (table.shape(0) != t5_bucket_count)
    throw std::invalid_argument("[t5_bias] table is " + to_string(view_of(table).shape) +
                                ": it must have a row for each of the " + std::to_string(t5_bucket_count) +
                                " buckets");
  Tensor<3> bias({table.shape(1), buckets.shape(0), buckets.shape(1)});
  for (std::size_t h = 0; h < bias.shape(0); ++h)
    for (std::size_t i = 0; i < bias.shape(1); ++i)
      for (std::size_t j = 0; j < bias.shape(2); ++j)
        bias(h, i, j) = table(static_cast<std::size_t>(buckets(i, j)), h);
  return bias;
}

Tensor<1> alibi_slopes(std::size_t heads) {
  auto slopes = Tensor<1>::from_shape({heads});
  for (std::size_t h = 0; h < heads; ++h)
    slopes(h) = std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads));
  return slopes;
}

/// Subtracted from 0, because −slope · 0 would be −0.
Tensor<3> alibi_bias(const Tensor<1>& slopes, std::size_t n) {
  Tensor<3> bias({slopes.size(), n, n});
  for (std::size_t h = 0; h < slopes.size(); ++h)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) bias(h, i, j) = 0.0 - slopes(h) * distance(i, j);
  return bias;
}

Tensor<4> add_bias(const Tensor<3>& scores, const Tensor<3>& bias) {
  if (scores.shape(1) != bias.shape(1) || scores.shape(2) != bias.shape(2))
    throw shape_mismatch("add_bias", "scores", scores, "bias", bias, "the query and key axes must match");
  Tensor<4> sum({scores.shape(0), bias.shape(0), scores.shape(1), scores.shape(2)});
  for (std::size_t b = 0; b < sum.shape(0); ++b)
    for (std::size_t h = 0; h < sum.shape(1); ++h)
      for (std::size_t i = 0; i < sum.shape(2); ++i)
        for (std::size_t j = 0; j < sum.shape(3); ++j) sum(b, h, i, j) = scores(b, i, j) + bias(h, i, j);
  return sum;
}

}  // namespace attn

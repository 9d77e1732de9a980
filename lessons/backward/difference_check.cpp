#include "lessons/backward/difference_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ops/central_difference.hpp"
#include "attn/ops/measure.hpp"

namespace lessons {

namespace {

/// How far a step moves a scaled score at most.
constexpr double score_step = 1e-5;

/// No step is longer: an entry that it moves stays finite.
constexpr double longest_step = 1e300;

/// The sum over the rows along the last axis of the largest element of each.
double sum_of_largest(const Tensor<3>& x) {
  const auto length = static_cast<std::ptrdiff_t>(x.shape(2));
  double sum = 0.0;
  for (auto row = x.begin(); row != x.end(); row += length) sum += *std::max_element(row, row + length);
  return sum;
}

}  // namespace

DifferenceCheck::DifferenceCheck(const Attention<3>& attention, const Tensor<3>& d_output,
                                 const Tensor<3>& d_weights, attn::Dtype dtype, bool entry_by_entry)
    : d_output_(d_output),
      entry_by_entry_(entry_by_entry),
      relative_(16.0 * (score_step * score_step + unit_roundoff(dtype))),
      noise_(8.0 * unit_roundoff(attn::Dtype::float64) / score_step *
             (1.0 + attn::max_abs(attention.scaled)) * sum_of_largest(d_weights)),
      near_0_(smallest_normal(dtype) *
              attn::maximum({1.0, attn::max_abs(d_output), attn::max_abs(d_weights)})) {}

GradientDeviation DifferenceCheck::in_linear(const MovedTensor& moved, const Tensor<3>& direction) const {
  return deviation(moved, std::max(1.0, attn::max_abs(moved.x)), 0.0, direction);
}

GradientDeviation DifferenceCheck::through_softmax(const MovedTensor& moved, double reach,
                                                   const Tensor<3>& direction) const {
  const double step = reach == 0.0 ? 1.0 : std::min(score_step / reach, longest_step);
  return deviation(moved, step, std::max(reach, score_step / step), direction);
}

GradientDeviation DifferenceCheck::deviation(const MovedTensor& moved, double step, double reach,
                                             const Tensor<3>& direction) const {
  const auto& [name, x, gradient, magnitude, output_of] = moved;
  const attn::GradientCheck<3> check = {output_of, x, d_output_, gradient, step};
  const double deviation =
      entry_by_entry_ ? attn::deviation_entry_by_entry(check) : attn::deviation_along(check, direction);
  const double terms =
      entry_by_entry_ ? attn::max_abs(magnitude) : std::accumulate(magnitude.begin(), magnitude.end(), 0.0);
  const double count = entry_by_entry_ ? 1.0 : static_cast<double>(x.size());
  const double lost_near_0 = near_0_ * count * std::max(1.0, reach);
  return {name, deviation, relative_ * (terms + lost_near_0) + noise_ * reach,
          size_of({gradient.begin(), gradient.end()}, entry_by_entry_)};
}

double size_of(const std::vector<double>& gradient, bool entry_by_entry) {
  double size = 0.0;
  for (const double number : gradient)
    size = entry_by_entry ? attn::maximum({size, std::abs(number)}) : std::hypot(size, number);
  return size;
}

Tensor<3> difference(const Tensor<3>& x, const Tensor<3>& y) {
  Tensor<3> difference(x.shape());
  std::transform(x.begin(), x.end(), y.begin(), difference.begin(), std::minus<>());
  return difference;
}

Tensor<3> random_signs(attn::Random& random, const std::array<std::size_t, 3>& shape) {
  Tensor<3> signs(shape);
  for (double& sign : signs) sign = random.normal() < 0.0 ? -1.0 : 1.0;
  return signs;
}

double unit_roundoff(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
      return std::ldexp(1.0, -24);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -11);
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

double smallest_normal(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -126);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -14);
    default:
      return std::ldexp(1.0, -1022);
  }
}

void claim_differences(attn::Trace& trace, const std::string& d_id, double size, const attn::Claim& claim) {
  const bool is_half = attn::item_size(trace.dtype()) == 2;
  if (claim.limit.bound <= (is_half ? 0.25 : 0.01) * size) return trace.claim(claim);
  trace.note(
      claim.id, fmt::format("{} is not checked", d_id),
      fmt::format("It is 0 or small. A difference of L may be off by {}, which is more than the {} part "
                  "of {}: whether the two agree would say nothing.",
                  claim.limit.bound, is_half ? "fourth" : "hundredth", d_id));
}

}  // namespace lessons

#include "attn/train/clipping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"

namespace attn {

namespace {

/// What PyTorch adds to the norm, so that it never divides by 0.
constexpr double beside_norm = 1e-6;

void require_positive(const char* op, const char* name, double value) {
  if (!(value > 0.0))
    throw std::invalid_argument(fmt::format("[{}] {} is {}: it must be above 0", op, name, value));
}

}  // namespace

Clipped clip_by_norm(const Tensor<2>& gradients, double max_norm) {
  require_positive("clip_by_norm", "max_norm", max_norm);
  Clipped clipped;
  clipped.row_norms = Tensor<1>::from_shape({gradients.shape(0)});
  for (std::size_t i = 0; i < gradients.shape(0); ++i) {
    double sum_of_squares = 0.0;
    for (std::size_t j = 0; j < gradients.shape(1); ++j)
      sum_of_squares += static_cast<double>(gradients(i, j)) * static_cast<double>(gradients(i, j));
    clipped.row_norms(i) = static_cast<double>(std::sqrt(sum_of_squares));
  }
  clipped.norm = std::sqrt(sum_of_products(gradients, gradients));
  clipped.factor = std::min(1.0, max_norm / (clipped.norm + beside_norm));
  clipped.gradients = Tensor<2>(gradients.shape());
  std::transform(gradients.begin(), gradients.end(), clipped.gradients.begin(),
                 [&](double g) { return static_cast<double>(clipped.factor * static_cast<double>(g)); });
  return clipped;
}

Tensor<2> clip_by_value(const Tensor<2>& gradients, double limit) {
  require_positive("clip_by_value", "limit", limit);
  Tensor<2> clipped(gradients.shape());
  std::transform(gradients.begin(), gradients.end(), clipped.begin(),
                 [&](double g) { return static_cast<double>(std::clamp(static_cast<double>(g), -limit, limit)); });
  return clipped;
}

double cosine(const Tensor<2>& x, const Tensor<2>& y) {
  return sum_of_products(x, y) / (std::sqrt(sum_of_products(x, x)) * std::sqrt(sum_of_products(y, y)));
}


}  // namespace attn

#include "attn/ops/layer_norm.hpp"

#include <cmath>
#include <span>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

constexpr double epsilon = 1e-5;

double mean_of(std::span<const double> row) {
  double sum = 0.0;
  for (const double element : row) sum += element;
  return sum / static_cast<double>(row.size());
}

/// The biased variance.
double variance_of(std::span<const double> row, double mean) {
  double sum = 0.0;
  for (const double element : row) {
    const double deviation = element - mean;
    sum += deviation * deviation;
  }
  return sum / static_cast<double>(row.size());
}

}  // namespace

Tensor<3> layer_norm(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<1>& bias) {
  const std::size_t d = x.shape(2);
  if (gain.size() != d) throw shape_mismatch("layer_norm", "x", x, "gain", gain, "the last axes must match");
  if (bias.size() != d) throw shape_mismatch("layer_norm", "x", x, "bias", bias, "the last axes must match");

  Tensor<3> normalized(x.shape());
  for (std::size_t begin = 0; begin < x.size(); begin += d) {
    const std::span row(x.data() + begin, d);
    const double mean = mean_of(row);
    const double standard_deviation = std::sqrt(variance_of(row, mean) + epsilon);
    for (std::size_t c = 0; c < d; ++c) {
      const double standardized = (row[c] - mean) / standard_deviation;
      normalized.data()[begin + c] = standardized * gain(c) + bias(c);
    }
  }
  return normalized;
}

}  // namespace attn

#include "attn/ops/layer_norm.hpp"

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "attn/ops/measure.hpp"
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

Tensor<3> standardize(const Tensor<3>& x) {
  const std::array<std::size_t, 1> d = {x.shape(2)};
  return layer_norm(x, Tensor<1>(d, 1.0), Tensor<1>(d, 0.0));
}

double standardization_deviation(const Tensor<3>& standardized, const Tensor<3>& x) {
  if (standardized.shape() != x.shape())
    throw shape_mismatch("standardization_deviation", "standardized", standardized, "x", x,
                         "the shapes must be equal");
  const std::size_t d = x.shape(2);
  double deviation = 0.0;
  for (std::size_t begin = 0; begin < x.size(); begin += d) {
    const std::span row(standardized.data() + begin, d), row_before(x.data() + begin, d);
    const double mean = mean_of(row), variance_before = variance_of(row_before, mean_of(row_before));
    const double variance_expected = variance_before / (variance_before + epsilon);
    deviation = maximum({deviation, std::abs(mean), std::abs(variance_of(row, mean) - variance_expected)});
  }
  return deviation;
}

double magnification(const Tensor<3>& x) {
  double largest = 0.0;
  for (std::size_t begin = 0; begin < x.size(); begin += x.shape(2)) {
    const std::span row(x.data() + begin, x.shape(2));
    largest = maximum({largest, 1.0 / std::sqrt(variance_of(row, mean_of(row)) + epsilon)});
  }
  return largest;
}

WorkedOut worked_layer_norm(Known<3> x, Known<1> gain, Known<1> bias) {
  return [=](const Index& at) {
    const std::size_t d = x.tensor.shape(2);
    const std::span row(&x.tensor(at[0], at[1], 0), d);
    const double mean = mean_of(row);
    const auto standard_deviation = sqrt(Worked::sum({Worked(variance_of(row, mean)), Worked(epsilon)}));
    const auto standardized = (x(at) - Worked(mean)) / standard_deviation;
    return Worked::sum({Worked::product({standardized, gain({at[2]})}), bias({at[2]})});
  };
}

}  // namespace attn

#include "attn/ops/layer_norm.hpp"

#include <cmath>
#include <span>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

constexpr double epsilon = 1e-5;

template <class T>
double mean_of(std::span<const T> row) {
  double sum = 0.0;
  for (const T element : row) sum += static_cast<double>(element);
  return sum / static_cast<double>(row.size());
}

/// The biased variance.
template <class T>
double variance_of(std::span<const T> row, double mean) {
  double sum = 0.0;
  for (const T element : row) {
    const double deviation = static_cast<double>(element) - mean;
    sum += deviation * deviation;
  }
  return sum / static_cast<double>(row.size());
}

}  // namespace

template <class T>
Tensor<T, 3> layer_norm(const Tensor<T, 3>& x, const Tensor<T, 1>& gain, const Tensor<T, 1>& bias) {
  const std::size_t d = x.shape(2);
  if (gain.size() != d) throw shape_mismatch("layer_norm", "x", x, "gain", gain, "the last axes must match");
  if (bias.size() != d) throw shape_mismatch("layer_norm", "x", x, "bias", bias, "the last axes must match");

  Tensor<T, 3> normalized(x.shape());
  for (std::size_t begin = 0; begin < x.size(); begin += d) {
    const std::span row(x.data() + begin, d);
    const double mean = mean_of(row);
    const double standard_deviation = std::sqrt(variance_of(row, mean) + epsilon);
    for (std::size_t c = 0; c < d; ++c) {
      const double standardized = (static_cast<double>(row[c]) - mean) / standard_deviation;
      normalized.data()[begin + c] =
          static_cast<T>(standardized * static_cast<double>(gain(c)) + static_cast<double>(bias(c)));
    }
  }
  return normalized;
}

template Tensor<float, 3> layer_norm(const Tensor<float, 3>&, const Tensor<float, 1>&,
                                     const Tensor<float, 1>&);
template Tensor<double, 3> layer_norm(const Tensor<double, 3>&, const Tensor<double, 1>&,
                                      const Tensor<double, 1>&);

}  // namespace attn

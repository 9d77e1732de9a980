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

LayerNormGradients layer_norm_backward(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<3>& d_y) {
  const std::size_t d = x.shape(2);
  if (x.shape() != d_y.shape())
    throw shape_mismatch("layer_norm_backward", "x", x, "d_y", d_y, "the shapes must be equal");
  if (gain.size() != d)
    throw shape_mismatch("layer_norm_backward", "x", x, "gain", gain, "the last axes must match");
  LayerNormGradients gradients = {Tensor<3>(x.shape()), xt::zeros<double>({d}), xt::zeros<double>({d})};
  for (std::size_t begin = 0; begin < x.size(); begin += d) {
    const std::span row(x.data() + begin, d), d_row(d_y.data() + begin, d);
    const double mean = mean_of(row), deviation = std::sqrt(variance_of(row, mean) + epsilon);
    const auto s = [&](std::size_t c) { return (row[c] - mean) / deviation; };
    double mean_d = 0.0, mean_d_s = 0.0;
    for (std::size_t c = 0; c < d; ++c) {
      mean_d += d_row[c] * gain(c) / static_cast<double>(d);
      mean_d_s += d_row[c] * gain(c) * s(c) / static_cast<double>(d);
      gradients.d_gain(c) += d_row[c] * s(c);
      gradients.d_bias(c) += d_row[c];
    }
    for (std::size_t c = 0; c < d; ++c)
      gradients.d_x.data()[begin + c] = (d_row[c] * gain(c) - mean_d - s(c) * mean_d_s) / deviation;
  }
  return gradients;
}

namespace {

/// A row of x, standardized: each number as a constant, and √(variance + 1e-5).
struct StandardizedRow {
  std::vector<double> numbers;
  double deviation;
};

StandardizedRow standardized_row(const Tensor<3>& x, std::size_t b, std::size_t i) {
  const std::span row(&x(b, i, 0), x.shape(2));
  const double mean = mean_of(row), deviation = std::sqrt(variance_of(row, mean) + epsilon);
  std::vector<double> numbers;
  for (const double number : row) numbers.push_back((number - mean) / deviation);
  return {std::move(numbers), deviation};
}

}  // namespace

WorkedOut worked_layer_norm_backward_x(Known<3> x, Known<1> gain, Known<3> d_y) {
  return [=](const Index& at) {
    const auto [numbers, deviation] = standardized_row(x.tensor, at[0], at[1]);
    double mean_d = 0.0, mean_d_s = 0.0;
    for (std::size_t c = 0; c < numbers.size(); ++c) {
      const double d_s = d_y.tensor(at[0], at[1], c) * gain.tensor(c) / static_cast<double>(numbers.size());
      mean_d += d_s;
      mean_d_s += d_s * numbers[c];
    }
    const auto d_s = Worked::product({d_y(at), gain({at[2]})});
    return (d_s - Worked(mean_d) - Worked::product({Worked(numbers[at[2]]), Worked(mean_d_s)})) /
           Worked(deviation);
  };
}

WorkedOut worked_layer_norm_backward_gain(Known<3> x, Known<3> d_y) {
  return [=](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t b = 0; b < x.tensor.shape(0); ++b)
      for (std::size_t i = 0; i < x.tensor.shape(1); ++i)
        terms.push_back(
            Worked::product({d_y({b, i, at[0]}), Worked(standardized_row(x.tensor, b, i).numbers[at[0]])}));
    return Worked::sum(std::move(terms));
  };
}

}  // namespace attn

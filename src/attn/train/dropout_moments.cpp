#include "attn/train/dropout_moments.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "attn/ops/dropout.hpp"
#include "attn/ops/measure.hpp"

namespace attn {

namespace {

/// [key] → [1×1×key], the shape in which dropout takes weights.
Tensor<3> as_row(const Tensor<1>& x) {
  auto row = Tensor<3>::from_shape({1, 1, x.size()});
  std::copy(x.begin(), x.end(), row.begin());
  return row;
}

Tensor<1> as_vector(const Tensor<3>& row) {
  auto x = Tensor<1>::from_shape({row.size()});
  std::copy(row.begin(), row.end(), x.begin());
  return x;
}

}  // namespace

/// Mean and variance are updated mask by mask (Welford 1962), so that a weight that is never dropped keeps
/// its value exactly and has variance 0.
DropoutMoments dropout_moments(Random& random, const Tensor<1>& weights, double p,
                                  std::size_t samples) {
  if (samples == 0) throw std::invalid_argument("[dropout_moments] samples is 0: it must be at least 1");
  const auto row = as_row(weights);
  DropoutMoments moments;
  std::vector<double> mean(weights.size()), sum_of_squares(weights.size());
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto mask = dropout_mask<3>(random, p, row.shape());
    const auto dropped = dropout(row, mask, p);
    if (sample == 0) {
      moments.mask = as_vector(mask);
      moments.dropped = as_vector(dropped);
    }
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double deviation = static_cast<double>(dropped.data()[j]) - mean[j];
      mean[j] += deviation / static_cast<double>(sample + 1);
      sum_of_squares[j] += deviation * (static_cast<double>(dropped.data()[j]) - mean[j]);
    }
  }
  moments.mean = moments.variance = Tensor<1>(weights.shape());
  for (std::size_t j = 0; j < mean.size(); ++j) {
    moments.mean(j) = static_cast<double>(mean[j]);
    moments.variance(j) = static_cast<double>(sum_of_squares[j] / static_cast<double>(samples));
  }
  return moments;
}

double error_of_mean(const DropoutMoments& moments, const Tensor<1>& weights, double p,
                     double samples) {
  double largest = 0.0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const auto weight = static_cast<double>(weights(j)), mean = static_cast<double>(moments.mean(j));
    largest = maximum({largest, std::abs(mean - weight) / (weight * std::sqrt(p / (1.0 - p) / samples))});
  }
  return largest;
}


}  // namespace attn

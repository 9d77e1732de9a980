#include "attn/efficient/fused_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attn/efficient/attend.hpp"

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The mean of values [d_v], weighted with the softmax of scores that come one at a time.
class SoftmaxMean {
 public:
  explicit SoftmaxMean(std::size_t d_v) : weighted_sum_(d_v) {}

  void add(double score, const double* value) {
    if (score == -infinity) return;
    if (score > maximum_) raise_maximum(score);
    const double weight = std::exp(score - maximum_);
    weight_sum_ += weight;
    for (std::size_t c = 0; c < weighted_sum_.size(); ++c)
      weighted_sum_[c] += weight * static_cast<double>(value[c]);
  }

  /// Zeros where nothing was added.
  void write(double* mean) const {
    const double divisor = weight_sum_ == 0.0 ? 1.0 : weight_sum_;
    for (std::size_t c = 0; c < weighted_sum_.size(); ++c)
      mean[c] = static_cast<double>(weighted_sum_[c] / divisor);
  }

 private:
  /// What was summed relative to the old maximum is smaller relative to the new one.
  void raise_maximum(double score) {
    const double rescaling = std::exp(maximum_ - score);
    weight_sum_ *= rescaling;
    for (double& sum : weighted_sum_) sum *= rescaling;
    maximum_ = score;
  }

  double maximum_ = -infinity;
  double weight_sum_ = 0.0;
  std::vector<double> weighted_sum_;
};

double dot(const double* x, const double* y, std::size_t length) {
  double sum = 0.0;
  for (std::size_t c = 0; c < length; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
  return sum;
}

template <std::size_t N>
void require_matching_mask(const Mask<3>& mask, const Tensor<N>& Q, const Tensor<N>& K) {
  const auto fits = [](std::size_t length, std::size_t expected) {
    return length == expected || length == 1;
  };
  const std::string rule = "batch, query and key must match or have length 1 in the mask";
  if (!fits(mask.shape(0), Q.shape(0)) || !fits(mask.shape(1), Q.shape(N - 2)))
    throw shape_mismatch("fused_attention", "Q", Q, "mask", mask, rule);
  if (!fits(mask.shape(2), K.shape(N - 2)))
    throw shape_mismatch("fused_attention", "K", K, "mask", mask, rule);
}

}  // namespace

template <std::size_t N>
Tensor<N> fused_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                             double divisor, const std::optional<Mask<3>>& mask) {
  require_fitting("fused_attention", Q, K, V);
  if (N == 4 && Q.shape(1) != K.shape(1))
    throw shape_mismatch("fused_attention", "Q", Q, "K", K, "the batch axes must match");
  if (mask) require_matching_mask(*mask, Q, K);
  const std::size_t n_q = Q.shape(N - 2), n_k = K.shape(N - 2), d_k = Q.shape(N - 1), d_v = V.shape(N - 1);
  const std::size_t heads = N == 4 ? Q.shape(1) : 1;
  auto shape = Q.shape();
  shape.back() = d_v;
  Tensor<N> output(shape);

  for (std::size_t matrix = 0; matrix < Q.shape(0) * heads; ++matrix)
    for (std::size_t i = 0; i < n_q; ++i) {
      const double* query = Q.data() + (matrix * n_q + i) * d_k;
      SoftmaxMean mean(d_v);
      for (std::size_t j = 0; j < n_k; ++j) {
        // Along a mask axis of length 1 xtensor takes every index for 0.
        if (mask && !(*mask)(matrix / heads, i, j)) continue;
        const std::size_t key = matrix * n_k + j;
        mean.add(dot(query, K.data() + key * d_k, d_k) / divisor, V.data() + key * d_v);
      }
      mean.write(output.data() + (matrix * n_q + i) * d_v);
    }
  return output;
}

template Tensor<3> fused_attention(const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, double, const std::optional<Mask<3>>&);
template Tensor<4> fused_attention(const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, double, const std::optional<Mask<3>>&);

}  // namespace attn

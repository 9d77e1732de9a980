#include "attn/efficient/linear_attention.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

void require_fitting_features(const std::string& kernel, const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                              const Tensor<2>& V) {
  if (phi_Q.shape(1) != phi_K.shape(1))
    throw shape_mismatch(kernel, "phi_Q", phi_Q, "phi_K", phi_K, "the last axes must match");
  if (phi_K.shape(0) != V.shape(0))
    throw shape_mismatch(kernel, "phi_K", phi_K, "V", V, "the numbers of keys and values must match");
}

/// What stands in place of the scores: S and, in a last column, z.
class Summary {
 public:
  Summary(std::size_t features, std::size_t d_v, Meter& meter)
      : features_(features), d_v_(d_v), meter_(meter), rows_(meter.hold(features * (d_v + 1))) {}

  /// Adds φ(k) vᵀ to S and φ(k) to z.
  void add(const double* phi_k, const double* value) {
    std::vector<double> sum(d_v_);
    for (std::size_t f = 0; f < features_; ++f) {
      double* row = rows_.data() + f * (d_v_ + 1);
      std::copy_n(row, d_v_, sum.begin());
      meter_.add_scaled(static_cast<double>(phi_k[f]), value, std::span(sum));
      std::transform(sum.begin(), sum.end(), row, [](double element) { return static_cast<double>(element); });
      row[d_v_] += phi_k[f];
    }
  }

  /// φ(q)ᵀ S / φ(q)ᵀ z, and 0 where there is nothing to divide by.
  void read(const double* phi_q, double* output) const {
    std::vector<double> sum(d_v_ + 1);
    for (std::size_t f = 0; f < features_; ++f)
      meter_.add_scaled(static_cast<double>(phi_q[f]), rows_.data() + f * (d_v_ + 1), std::span(sum));
    const double divisor = sum.back() == 0.0 ? 1.0 : sum.back();
    std::transform(sum.begin(), sum.end() - 1, output,
                   [&](double element) { return static_cast<double>(element / divisor); });
  }

  void write(LinearAttention& attention) const {
    attention.S = Tensor<2>({features_, d_v_});
    attention.z = Tensor<1>::from_shape({features_});
    for (std::size_t f = 0; f < features_; ++f) {
      const double* row = rows_.data() + f * (d_v_ + 1);
      std::copy_n(row, d_v_, attention.S.data() + f * d_v_);
      attention.z(f) = row[d_v_];
    }
  }

 private:
  std::size_t features_, d_v_;
  Meter& meter_;
  Held rows_;
};

}  // namespace

LinearAttention linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                    const Tensor<2>& V, Meter& meter) {
  require_fitting_features("linear_attention", phi_Q, phi_K, V);
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  LinearAttention attention;
  attention.output = Tensor<2>({phi_Q.shape(0), d_v});
  Summary summary(features, d_v, meter);
  const auto summing = meter.operation();
  for (std::size_t j = 0; j < phi_K.shape(0); ++j) {
    summary.add(phi_K.data() + j * features, V.data() + j * d_v);
    meter.read_token(summing, j);
  }
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    summary.read(phi_Q.data() + i * features, attention.output.data() + i * d_v);
    const auto reading = meter.operation();
    meter.read(reading, summing);
    meter.deliver(reading, i);
  }
  summary.write(attention);
  return attention;
}

LinearAttention causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                           const Tensor<2>& V, Meter& meter) {
  require_fitting_features("causal_linear_attention", phi_Q, phi_K, V);
  if (phi_Q.shape(0) != phi_K.shape(0))
    throw shape_mismatch("causal_linear_attention", "phi_Q", phi_Q, "phi_K", phi_K,
                         "there must be as many queries as keys");
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  LinearAttention attention;
  attention.output = Tensor<2>({phi_Q.shape(0), d_v});
  Summary summary(features, d_v, meter);
  Wiring::Node last = 0;
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    const auto growing = meter.operation(), reading = meter.operation();
    if (i > 0) meter.read(growing, last);
    meter.read_token(growing, i);
    summary.add(phi_K.data() + i * features, V.data() + i * d_v);
    meter.read(reading, growing);
    summary.read(phi_Q.data() + i * features, attention.output.data() + i * d_v);
    meter.deliver(reading, i);
    last = growing;
  }
  summary.write(attention);
  return attention;
}

PlainLinearAttention plain_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                               const Tensor<2>& V, const Mask<2>& mask) {
  require_fitting_features("plain_linear_attention", phi_Q, phi_K, V);
  PlainLinearAttention attention;
  attention.weights = matmul(phi_Q, transpose(phi_K));
  if (mask.shape() != attention.weights.shape())
    throw shape_mismatch("plain_linear_attention", "weights", attention.weights, "mask", mask,
                         "query and key must match");
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < mask.shape(1); ++j)
      sum += mask(i, j) ? static_cast<double>(attention.weights(i, j)) : 0.0;
    const double divisor = sum == 0.0 ? 1.0 : sum;
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      double& weight = attention.weights(i, j);
      weight = mask(i, j) ? static_cast<double>(static_cast<double>(weight) / divisor) : double{0};
    }
  }
  attention.output = matmul(attention.weights, V);
  return attention;
}


}  // namespace attn

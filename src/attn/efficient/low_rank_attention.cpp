#include "attn/efficient/low_rank_attention.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "attn/efficient/attend.hpp"

namespace attn {

namespace {

void require_fitting_projection(const std::string& projection_name, const Tensor<2>& projection,
                                const std::string& name, const Tensor<2>& x) {
  if (projection.shape(1) != x.shape(0))
    throw shape_mismatch("low_rank_attention", projection_name, projection, name, x,
                         "the inner axes must match");
}

/// projection [r×key] · x [key×d] → [r×d]
Tensor<2> project(const Tensor<2>& projection, const Tensor<2>& x, Meter& meter) {
  const std::size_t d = x.shape(1);
  Tensor<2> projected({projection.shape(0), d});
  for (std::size_t a = 0; a < projection.shape(0); ++a) {
    std::vector<double> sum(d);
    for (std::size_t j = 0; j < x.shape(0); ++j)
      meter.add_scaled(static_cast<double>(projection(a, j)), x.data() + j * d, std::span(sum));
    std::transform(sum.begin(), sum.end(), projected.data() + a * d,
                   [](double element) { return static_cast<double>(element); });
  }
  return projected;
}

}  // namespace

LowRankAttention low_rank_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                       const Tensor<2>& E, const Tensor<2>& F, Meter& meter) {
  require_fitting("low_rank_attention", Q, K, V);
  if (E.shape(0) != F.shape(0))
    throw shape_mismatch("low_rank_attention", "E", E, "F", F, "the numbers of rows must match");
  require_fitting_projection("E", E, "K", K);
  require_fitting_projection("F", F, "V", V);
  const std::size_t n = Q.shape(0), r = E.shape(0);
  LowRankAttention attention;
  attention.projected_keys = project(E, K, meter);
  attention.projected_values = project(F, V, meter);
  attention.output = Tensor<2>({n, V.shape(1)});
  attention.weights = Tensor<2>({n, r});

  const auto projecting = meter.operation();
  for (std::size_t j = 0; j < K.shape(0); ++j) meter.read_token(projecting, j);
  std::vector<std::size_t> all(r);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const KeysAndValues from = {attention.projected_keys.data(), attention.projected_values.data(),
                                 K.shape(1), V.shape(1)};
  auto weights = meter.hold(n * r);
  for (std::size_t i = 0; i < n; ++i) {
    attend(Q.data() + i * from.d_k, from, std::span<const std::size_t>(all), weights.part(i * r, r),
           attention.output.data() + i * from.d_v, meter);
    const auto attending = meter.operation();
    meter.read(attending, projecting);
    meter.deliver(attending, i);
  }
  std::copy_n(weights.data(), n * r, attention.weights.data());
  return attention;
}


}  // namespace attn

#include "attn/efficient/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// sum += x W for one vector x [d_in] and W [d_in×d].
void add_product(const double* x, const double* W, std::size_t d_in, std::span<double> sum, Meter& meter) {
  for (std::size_t c = 0; c < d_in; ++c) meter.add_scaled(static_cast<double>(x[c]), W + c * sum.size(), sum);
}

}  // namespace

Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h,
                        Meter& meter) {
  const std::size_t n = X.shape(0), d_in = X.shape(1), d = W_x.shape(1);
  if (W_x.shape(0) != d_in)
    throw shape_mismatch("recurrence", "X", X, "W_x", W_x, "the inner axes must match");
  if (W_h.shape(0) != d || W_h.shape(1) != d)
    throw shape_mismatch("recurrence", "W_x", W_x, "W_h", W_h, "W_h must be as wide as W_x, and square");
  Tensor<2> states({n, d});
  auto state = meter.hold(d);
  Wiring::Node last = 0;
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<double> sum(d);
    add_product(X.data() + t * d_in, W_x.data(), d_in, std::span(sum), meter);
    add_product(state.data(), W_h.data(), d, std::span(sum), meter);
    for (std::size_t c = 0; c < d; ++c) states(t, c) = state[c] = static_cast<double>(std::tanh(sum[c]));

    const auto step = meter.operation();
    if (t > 0) meter.read(step, last);
    meter.read_token(step, t);
    meter.deliver(step, t);
    last = step;
  }
  return states;
}

Tensor<2> convolution(const Tensor<2>& X, const Tensor<3>& W, Meter& meter) {
  const std::size_t n = X.shape(0), width = W.shape(0), d_in = W.shape(1), d = W.shape(2);
  if (X.shape(1) != d_in || width % 2 == 0)
    throw shape_mismatch("convolution", "X", X, "W", W, "the inner axes must match, and the width be odd");
  Tensor<2> output({n, d});
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> sum(d);
    const auto mixing = meter.operation();
    for (std::size_t o = 0; o < width; ++o) {
      if (i + o < width / 2 || i + o - width / 2 >= n) continue;
      const std::size_t j = i + o - width / 2;
      add_product(X.data() + j * d_in, W.data() + o * d_in * d, d_in, std::span(sum), meter);
      meter.read_token(mixing, j);
    }
    meter.deliver(mixing, i);
    std::transform(sum.begin(), sum.end(), output.data() + i * d,
                   [](double element) { return static_cast<double>(element); });
  }
  return output;
}


}  // namespace attn

#include "attn/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

bool is_masked(std::span<const double> row) {
  return std::all_of(row.begin(), row.end(),
                     [](double score) { return score == -std::numeric_limits<double>::infinity(); });
}

/// One row, in float64, into `weights`.
void softmax_row(std::span<const double> scores, double* weights) {
  const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  std::vector<double> exponentials;
  double sum = 0.0;
  for (const double score : scores) {
    exponentials.push_back(std::exp(static_cast<double>(score) - largest));
    sum += exponentials.back();
  }
  std::transform(exponentials.begin(), exponentials.end(), weights,
                 [sum](double exponential) { return static_cast<double>(exponential / sum); });
}

}  // namespace

template <std::size_t N>
Tensor<N> softmax(const Tensor<N>& scores) {
  Tensor<N> weights(scores.shape());
  const std::size_t length = scores.shape().back();
  for (std::size_t begin = 0; begin < scores.size(); begin += length) {
    const std::span row(scores.data() + begin, length);
    if (is_masked(row))
      std::fill_n(weights.data() + begin, length, double{0});
    else
      softmax_row(row, weights.data() + begin);
  }
  return weights;
}

template <std::size_t N>
Tensor<N> softmax_backward(const Tensor<N>& weights, const Tensor<N>& d_weights) {
  if (weights.shape() != d_weights.shape())
    throw shape_mismatch("softmax_backward", "weights", weights, "d_weights", d_weights,
                         "the shapes must be equal");
  Tensor<N> d_scores(weights.shape());
  const std::size_t length = weights.shape().back();
  for (std::size_t begin = 0; begin < weights.size(); begin += length) {
    const std::span w(weights.data() + begin, length), d(d_weights.data() + begin, length);
    const double mean =
        std::inner_product(w.begin(), w.end(), d.begin(), 0.0, std::plus<>(), std::multiplies<double>());
    for (std::size_t j = 0; j < length; ++j)
      d_scores.data()[begin + j] =
          static_cast<double>(static_cast<double>(w[j]) * (static_cast<double>(d[j]) - mean));
  }
  return d_scores;
}

template Tensor<1> softmax(const Tensor<1>&);
template Tensor<1> softmax_backward(const Tensor<1>&, const Tensor<1>&);
template Tensor<2> softmax(const Tensor<2>&);
template Tensor<2> softmax_backward(const Tensor<2>&, const Tensor<2>&);
template Tensor<3> softmax(const Tensor<3>&);
template Tensor<3> softmax_backward(const Tensor<3>&, const Tensor<3>&);
template Tensor<4> softmax(const Tensor<4>&);
template Tensor<4> softmax_backward(const Tensor<4>&, const Tensor<4>&);

}  // namespace attn

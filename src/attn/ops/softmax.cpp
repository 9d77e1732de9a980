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

template <class T>
bool is_masked(std::span<const T> row) {
  return std::all_of(row.begin(), row.end(),
                     [](T score) { return score == -std::numeric_limits<T>::infinity(); });
}

/// One row, in float64, into `weights`.
template <class T>
void softmax_row(std::span<const T> scores, T* weights) {
  const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  std::vector<double> exponentials;
  double sum = 0.0;
  for (const T score : scores) {
    exponentials.push_back(std::exp(static_cast<double>(score) - largest));
    sum += exponentials.back();
  }
  std::transform(exponentials.begin(), exponentials.end(), weights,
                 [sum](double exponential) { return static_cast<T>(exponential / sum); });
}

}  // namespace

template <class T, std::size_t N>
Tensor<T, N> softmax(const Tensor<T, N>& scores) {
  Tensor<T, N> weights(scores.shape());
  const std::size_t length = scores.shape().back();
  for (std::size_t begin = 0; begin < scores.size(); begin += length) {
    const std::span row(scores.data() + begin, length);
    if (is_masked(row))
      std::fill_n(weights.data() + begin, length, T{0});
    else
      softmax_row(row, weights.data() + begin);
  }
  return weights;
}

template <class T, std::size_t N>
Tensor<T, N> softmax_backward(const Tensor<T, N>& weights, const Tensor<T, N>& d_weights) {
  if (weights.shape() != d_weights.shape())
    throw shape_mismatch("softmax_backward", "weights", weights, "d_weights", d_weights,
                         "the shapes must be equal");
  Tensor<T, N> d_scores(weights.shape());
  const std::size_t length = weights.shape().back();
  for (std::size_t begin = 0; begin < weights.size(); begin += length) {
    const std::span w(weights.data() + begin, length), d(d_weights.data() + begin, length);
    const double mean =
        std::inner_product(w.begin(), w.end(), d.begin(), 0.0, std::plus<>(), std::multiplies<double>());
    for (std::size_t j = 0; j < length; ++j)
      d_scores.data()[begin + j] =
          static_cast<T>(static_cast<double>(w[j]) * (static_cast<double>(d[j]) - mean));
  }
  return d_scores;
}

#define INSTANTIATE_TYPE(T, N)                        \
  template Tensor<T, N> softmax(const Tensor<T, N>&); \
  template Tensor<T, N> softmax_backward(const Tensor<T, N>&, const Tensor<T, N>&);
#define INSTANTIATE(N)       \
  INSTANTIATE_TYPE(float, N) \
  INSTANTIATE_TYPE(double, N)
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)

}  // namespace attn

#include "attn/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

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

#define INSTANTIATE(N)                                        \
  template Tensor<float, N> softmax(const Tensor<float, N>&); \
  template Tensor<double, N> softmax(const Tensor<double, N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)

}  // namespace attn

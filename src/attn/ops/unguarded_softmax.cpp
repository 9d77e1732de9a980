#include "attn/ops/unguarded_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

Tensor<3> unguarded_softmax(const Tensor<3>& scores) {
  Tensor<3> weights(scores.shape());
  const std::size_t keys = scores.shape(2);
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t i = 0; i < scores.shape(1); ++i) {
      const auto score = [&](std::size_t j) { return static_cast<double>(scores(b, i, j)); };
      double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
      for (std::size_t j = 0; j < keys; ++j) largest = std::max(largest, score(j));
      for (std::size_t j = 0; j < keys; ++j) sum += std::exp(score(j) - largest);
      for (std::size_t j = 0; j < keys; ++j)
        weights(b, i, j) = static_cast<double>(std::exp(score(j) - largest) / sum);
    }
  return weights;
}

}  // namespace attn

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn::exact {

/// Turns scores into weights that sum to 1 and returns their log-sum-exp: −∞ where there are none.
template <class T>
T softmax(T* scores, std::size_t count) {
  if (count == 0) return -std::numeric_limits<T>::infinity();
  const T maximum = *std::max_element(scores, scores + count);
  std::transform(scores, scores + count, scores, [maximum](T score) { return std::exp(score - maximum); });
  const T sum = std::accumulate(scores, scores + count, T{0});
  std::transform(scores, scores + count, scores, [sum](T weight) { return weight / sum; });
  return maximum + std::log(sum);
}

}  // namespace attn::exact

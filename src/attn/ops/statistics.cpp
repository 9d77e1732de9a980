#include "attn/ops/statistics.hpp"

#include <stdexcept>
#include <string>

namespace attn {

namespace {

template <class T>
double count_of(const Tensor<T, 1>& x, const char* op) {
  if (x.size() == 0) throw std::invalid_argument(std::string("[") + op + "] the sample is empty");
  return static_cast<double>(x.size());
}

}  // namespace

template <class T>
double mean(const Tensor<T, 1>& x) {
  const double count = count_of(x, "mean");
  double sum = 0.0;
  for (const T value : x) sum += static_cast<double>(value);
  return sum / count;
}

template <class T>
double variance(const Tensor<T, 1>& x) {
  const double count = count_of(x, "variance");
  const double center = mean(x);
  double sum = 0.0;
  for (const T value : x) {
    const double deviation = static_cast<double>(value) - center;
    sum += deviation * deviation;
  }
  return sum / count;
}

#define INSTANTIATE(T)                       \
  template double mean(const Tensor<T, 1>&); \
  template double variance(const Tensor<T, 1>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn

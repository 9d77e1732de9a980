#include "attn/ops/statistics.hpp"

#include <stdexcept>
#include <string>

namespace attn {

namespace {

double count_of(const Tensor<1>& x, const char* op) {
  if (x.size() == 0) throw std::invalid_argument(std::string("[") + op + "] the sample is empty");
  return static_cast<double>(x.size());
}

}  // namespace

double mean(const Tensor<1>& x) {
  const double count = count_of(x, "mean");
  double sum = 0.0;
  for (const double value : x) sum += value;
  return sum / count;
}

double variance(const Tensor<1>& x) {
  const double count = count_of(x, "variance");
  const double center = mean(x);
  double sum = 0.0;
  for (const double value : x) {
    const double deviation = value - center;
    sum += deviation * deviation;
  }
  return sum / count;
}

}  // namespace attn

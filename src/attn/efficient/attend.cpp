#include "attn/efficient/attend.hpp"

#include <stdexcept>

namespace attn {

void softmax_in_place(std::span<double> scores) {
  if (scores.empty()) return;
  const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0.0;
  for (double& score : scores) {
    const double exponential = std::exp(static_cast<double>(score) - largest);
    sum += exponential;
    score = static_cast<double>(exponential);
  }
  for (double& score : scores) score = static_cast<double>(static_cast<double>(score) / sum);
}

void attend(const double* query, const KeysAndValues& from, std::span<const std::size_t> keys,
            std::span<double> weights, double* output, Meter& meter) {
  const double divisor = std::sqrt(static_cast<double>(from.d_k));
  for (std::size_t k = 0; k < keys.size(); ++k)
    weights[k] = static_cast<double>(meter.dot(query, from.keys + keys[k] * from.d_k, from.d_k) / divisor);
  softmax_in_place(weights);
  std::vector<double> sum(from.d_v);
  for (std::size_t k = 0; k < keys.size(); ++k)
    meter.add_scaled(static_cast<double>(weights[k]), from.values + keys[k] * from.d_v, std::span(sum));
  std::transform(sum.begin(), sum.end(), output, [](double element) { return static_cast<double>(element); });
}


}  // namespace attn

#include "fast/bench/summary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace attn::bench {

namespace {

void require_pairs(const char* function, const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.empty())
    throw std::invalid_argument("[" + std::string(function) + "] " + std::to_string(x.size()) + " and " +
                                std::to_string(y.size()) + " values do not make pairs");
}

/// Of values in rising order.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Quartiles quartiles(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("[quartiles] there are no values");
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double median(std::vector<double> values) {
  return quartiles(std::move(values)).median;
}

double median_ratio(const std::vector<double>& x, const std::vector<double>& y) {
  require_pairs("median_ratio", x, y);
  std::vector<double> ratios(x.size());
  std::transform(x.begin(), x.end(), y.begin(), ratios.begin(), std::divides<>());
  return median(std::move(ratios));
}

double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y) {
  require_pairs("fitted_exponent", x, y);
  const auto [smallest, largest] = std::minmax_element(x.begin(), x.end());
  if (*smallest == *largest) throw std::invalid_argument("[fitted_exponent] all x are the same");
  const auto count = static_cast<double>(x.size());
  double mean_x = 0.0, mean_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  double covariance = 0.0, variance = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    variance += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  return covariance / variance;
}

}  // namespace attn::bench

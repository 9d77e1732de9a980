#include "fast/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace attn::bench {

namespace {

constexpr std::size_t lengths_to_fit = 3;

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

/// The median of the ratios of two times, round by round.
std::optional<double> time_ratio(const Series* series, const Series* other) {
  if (series == nullptr || other == nullptr) return std::nullopt;
  return median_ratio(series->seconds, other->seconds);
}

Statistics statistics_of(const Series& series, const LengthResult& result) {
  const auto rates = series.rates();
  const auto seconds = quartiles(series.seconds);
  const bool is_backward = series.pass == Pass::backward;
  return {.n = result.setting.n,
          .kernel = series.kernel,
          .pass = series.pass,
          .rounds = series.seconds.size(),
          .operations = series.operations,
          .seconds = seconds,
          .rate = series.operations / seconds.median,
          .share_of_product = median_ratio(rates, result.product_rates),
          .share_of_peak = median_ratio(rates, result.peak_rates),
          .speedup = time_ratio(result.find("xtensor", series.pass), &series),
          .of_forward =
              is_backward ? time_ratio(&series, result.find(series.kernel, Pass::forward)) : std::nullopt,
          .of_full = time_ratio(&series, result.find(series.kernel + "-full", series.pass)),
          .extra_bytes = series.extra_bytes,
          .error = series.error,
          .variant = series.variant,
          .relative_error = series.relative_error};
}

/// The median time in units of the matrix product's.
double relative_time(const Series& series, const LengthResult& result) {
  return series.operations / median_ratio(series.rates(), result.product_rates);
}

/// Every pass of every kernel once, nothing fitted yet.
std::vector<Growth> passes_in(const std::vector<LengthResult>& lengths) {
  std::vector<Growth> passes;
  for (const auto& result : lengths)
    for (const auto& series : result.series)
      if (std::none_of(passes.begin(), passes.end(), [&](const Growth& known) {
            return known.kernel == series.kernel && known.pass == series.pass;
          }))
        passes.push_back({.kernel = series.kernel, .pass = series.pass});
  return passes;
}

void fit(Growth& growth, const std::vector<LengthResult>& lengths) {
  std::vector<double> times;
  for (auto result = lengths.rbegin(); result != lengths.rend() && times.size() < lengths_to_fit; ++result) {
    const auto* series = result->find(growth.kernel, growth.pass);
    if (series == nullptr) continue;
    growth.lengths.insert(growth.lengths.begin(), static_cast<double>(result->setting.n));
    times.insert(times.begin(), relative_time(*series, *result));
  }
  if (times.size() >= lengths_to_fit) growth.exponent = fitted_exponent(growth.lengths, times);
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

std::vector<Statistics> statistics_of(const LengthResult& result) {
  std::vector<Statistics> all;
  for (const auto& series : result.series) all.push_back(statistics_of(series, result));
  return all;
}

std::vector<Growth> growth_of(const std::vector<LengthResult>& lengths) {
  std::vector<Growth> growths;
  for (const auto& growth : passes_in(lengths)) {
    growths.push_back(growth);
    fit(growths.back(), lengths);
    if (growths.back().lengths.size() < 2) growths.pop_back();
  }
  return growths;
}

}  // namespace attn::bench

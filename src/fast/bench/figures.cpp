#include "fast/bench/figures.hpp"

#include <algorithm>

namespace attn::bench {

namespace {

constexpr std::size_t lengths_to_fit = 3;

/// How many times the time of the one the time of the other is, round by round.
std::optional<double> time_ratio(const Series* series, const Series* other) {
  if (series == nullptr || other == nullptr) return std::nullopt;
  return median_ratio(series->seconds, other->seconds);
}

Figures figures_of(const Series& series, const Heat& heat) {
  const auto rates = series.rates();
  const auto seconds = quartiles(series.seconds);
  const bool is_backward = series.pass == Pass::backward;
  return {
      .n = heat.setting.n,
      .kernel = series.kernel,
      .pass = series.pass,
      .rounds = series.seconds.size(),
      .operations = series.operations,
      .seconds = seconds,
      .rate = series.operations / seconds.median,
      .share_of_product = median_ratio(rates, heat.product_rates),
      .share_of_peak = median_ratio(rates, heat.peak_rates),
      .times_faster = time_ratio(heat.find("xtensor", series.pass), &series),
      .of_forward = is_backward ? time_ratio(&series, heat.find(series.kernel, Pass::forward)) : std::nullopt,
      .of_full = time_ratio(&series, heat.find(series.kernel + "-full", series.pass)),
      .extra_bytes = series.extra_bytes,
      .error = series.error};
}

/// The median time in units of the matrix product's.
double relative_time(const Series& series, const Heat& heat) {
  return series.operations / median_ratio(series.rates(), heat.product_rates);
}

/// Every pass of every kernel once, nothing fitted yet.
std::vector<Growth> passes_in(const std::vector<Heat>& heats) {
  std::vector<Growth> passes;
  for (const auto& heat : heats)
    for (const auto& series : heat.series)
      if (std::none_of(passes.begin(), passes.end(), [&](const Growth& known) {
            return known.kernel == series.kernel && known.pass == series.pass;
          }))
        passes.push_back({.kernel = series.kernel, .pass = series.pass});
  return passes;
}

void fit(Growth& growth, const std::vector<Heat>& heats) {
  std::vector<double> times;
  for (auto heat = heats.rbegin(); heat != heats.rend() && times.size() < lengths_to_fit; ++heat) {
    const auto* series = heat->find(growth.kernel, growth.pass);
    if (series == nullptr) continue;
    growth.lengths.insert(growth.lengths.begin(), static_cast<double>(heat->setting.n));
    times.insert(times.begin(), relative_time(*series, *heat));
  }
  if (times.size() > 1) growth.exponent = fitted_exponent(growth.lengths, times);
}

}  // namespace

std::vector<Figures> figures_of(const Heat& heat) {
  std::vector<Figures> figures;
  for (const auto& series : heat.series) figures.push_back(figures_of(series, heat));
  return figures;
}

std::vector<Growth> growth_of(const std::vector<Heat>& heats) {
  std::vector<Growth> growths;
  for (const auto& growth : passes_in(heats)) {
    growths.push_back(growth);
    fit(growths.back(), heats);
    if (growths.back().lengths.size() < 2) growths.pop_back();
  }
  return growths;
}

}  // namespace attn::bench

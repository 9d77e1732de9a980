#include "page/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/text/trim.hpp"

namespace attn {

namespace {

/// The numbers that the labels are, or end with: "8" and "n=8".
std::vector<double> positions_of(const AxisLabels& labels, std::size_t count) {
  std::vector<double> positions;
  for (std::size_t i = 0; i < count && !labels.empty(); ++i) {
    const auto& label = labels.of(0)[i];
    const auto number = number_in(label.substr(label.rfind('=') + 1));
    if (!number) break;
    positions.push_back(*number);
  }
  if (positions.size() == count) return positions;
  positions.resize(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  return positions;
}

/// The distance of round numbers of which some five lie on the scale.
double step_of(const Scale& scale) {
  return round_up((scale.high - scale.low) / 5, {1.0, 2.0, 2.5, 5.0});
}

}  // namespace

double Scale::place(double value) const {
  if (!(low < high)) return 0.5;
  if (is_logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

double largest_size(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

Scale scale_of(const std::vector<double>& values) {
  auto finite = values;
  std::erase_if(finite, [](double value) { return !std::isfinite(value); });
  if (finite.empty()) return {};
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  return {*low, *high, *low > 0.0 && *high > 100.0 * *low};
}

Scale scale_of_lines(const std::vector<Curves::Line>& lines) {
  std::vector<double> all;
  for (const auto& line : lines) all.insert(all.end(), line.values.begin(), line.values.end());
  return scale_of(all);
}

std::vector<double> ticks_of(const Scale& scale) {
  constexpr std::size_t fewest = 3;
  const double rounding = 1e-9;
  if (!(scale.low < scale.high)) return {scale.low};
  std::vector<double> ticks;
  if (scale.is_logarithmic)
    for (const auto& digits : {std::vector{1.0}, {1.0, 2.0, 5.0}}) {
      ticks.clear();
      for (double power = std::floor(std::log10(scale.low)); power <= std::log10(scale.high); ++power)
        for (const double digit : digits)
          if (const double value = digit * std::pow(10.0, power);
              scale.low * (1 - rounding) <= value && value <= scale.high * (1 + rounding))
            ticks.push_back(value);
      if (ticks.size() >= fewest) return ticks;
    }
  ticks.clear();
  const double step = step_of(scale);
  for (double k = std::ceil(scale.low / step - rounding); k * step <= scale.high + rounding * step; ++k)
    ticks.push_back(k * step + 0.0);
  return ticks;
}

double round_up(double value, const std::vector<double>& fronts) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double front : fronts)
    if (value <= front * power * (1 + 1e-9)) return front * power;
  return 10 * power;
}

Scale with_round_ends(Scale scale) {
  if (scale.is_logarithmic || !(scale.low < scale.high)) return scale;
  const double step = step_of(scale);
  return {step * std::floor(scale.low / step + 1e-9), step * std::ceil(scale.high / step - 1e-9), false};
}

std::string tick(double value) {
  const bool is_long = std::abs(value) >= 1e4 && std::abs(value) < 1e9;
  return is_long ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

Curves curves_of(const Event& event, bool by_column) {
  const auto& tensor = *event.tensor;
  const std::size_t rank = tensor.shape.size(), along = by_column ? 0 : rank - 1, across = by_column ? 1 : 0;
  const std::size_t points = tensor.shape[along], lines = rank > 1 ? tensor.shape[across] : 1;

  Curves curves;
  curves.axis = event.axes[along];
  curves.value_name = last_of_path(event.id);
  std::replace(curves.value_name.begin(), curves.value_name.end(), '_', ' ');
  curves.positions = positions_of(event.labels[along], points);
  for (std::size_t i = 0; i < lines; ++i) {
    Curves::Line line;
    if (rank > 1)
      line.name = event.axes[across] + " " +
                  (event.labels[across].empty() ? fmt::format("{}", i) : event.labels[across].of(0)[i]);
    for (std::size_t j = 0; j < points; ++j)
      line.values.push_back(tensor.at(by_column ? j * lines + i : i * points + j));
    curves.lines.push_back(std::move(line));
  }
  curves.horizontal = scale_of(curves.positions);
  curves.vertical = scale_of_lines(curves.lines);
  if (event.linear) {
    curves.vertical = {std::min(0.0, curves.vertical.low), curves.vertical.high, false};
    curves.horizontal.is_logarithmic = false;
    return curves;
  }
  const auto& [first, last, is_logarithmic] = curves.horizontal;
  curves.horizontal.is_logarithmic =
      is_logarithmic || (curves.vertical.is_logarithmic && first > 0.0 && last >= 8.0 * first);
  return curves;
}

}  // namespace attn

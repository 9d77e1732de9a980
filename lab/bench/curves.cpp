#include "lab/bench/curves.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "fast/bench/statistics.hpp"

namespace lab {

namespace {

using attn::Curves;
using attn::bench::LengthResult;
using attn::bench::Pass;
using attn::bench::Result;
using attn::bench::Series;

using Value = std::function<double(const Series& series)>;

/// Kernels of a pass, in the order of their tables.
std::vector<std::string> kernels_of(const Result& result, Pass pass) {
  std::vector<std::string> kernels;
  for (const auto& length : result.lengths)
    for (const auto& series : length.series)
      if (series.pass == pass && std::find(kernels.begin(), kernels.end(), series.kernel) == kernels.end())
        kernels.push_back(series.kernel);
  return kernels;
}

Curves::Line line_of(const Result& result, const std::string& kernel, Pass pass, const Value& value) {
  Curves::Line line{.name = kernel, .values = {}};
  for (const auto& length : result.lengths) {
    const auto* series = length.find(kernel, pass);
    line.values.push_back(series == nullptr ? std::numeric_limits<double>::quiet_NaN() : value(*series));
  }
  return line;
}

std::size_t points_of(const Curves::Line& line) {
  return static_cast<std::size_t>(
      std::count_if(line.values.begin(), line.values.end(), [](double v) { return std::isfinite(v); }));
}

std::vector<Curves::Line> kernel_lines(const Result& result, Pass pass, const Value& value) {
  std::vector<Curves::Line> lines;
  for (const auto& kernel : kernels_of(result, pass)) {
    auto line = line_of(result, kernel, pass, value);
    if (points_of(line) > 1) lines.push_back(std::move(line));
  }
  return lines;
}

Curves on_logarithmic_scales(const Result& result, std::vector<Curves::Line> lines) {
  Curves curves;
  curves.axis = "n";
  curves.lines = std::move(lines);
  for (const auto& length : result.lengths) curves.positions.push_back(static_cast<double>(length.setting.n));
  std::vector<double> all;
  for (const auto& line : curves.lines) all.insert(all.end(), line.values.begin(), line.values.end());
  curves.horizontal = attn::scale_of(curves.positions);
  curves.vertical = attn::scale_of(all);
  curves.horizontal.is_logarithmic = curves.vertical.is_logarithmic = true;
  return curves;
}

double gflops(const std::vector<double>& rates) {
  return attn::bench::median(rates) / 1e9;
}

}  // namespace

Curves time_curves(const Result& result, Pass pass) {
  return on_logarithmic_scales(result, kernel_lines(result, pass, [](const Series& series) {
                                 return attn::bench::median(series.seconds);
                               }));
}

Curves rate_curves(const Result& result, Pass pass) {
  auto lines = kernel_lines(result, pass, [](const Series& series) { return gflops(series.rates()); });
  if (lines.empty()) return {};
  Curves::Line product{.name = "gemm", .values = {}}, peak{.name = "peak", .values = {}};
  for (const auto& length : result.lengths) {
    product.values.push_back(gflops(length.product_rates));
    peak.values.push_back(gflops(length.peak_rates));
  }
  lines.insert(lines.end(), {product, peak});
  return on_logarithmic_scales(result, std::move(lines));
}

}  // namespace lab

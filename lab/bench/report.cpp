#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"
#include "lab/bench/bench.hpp"
#include "lab/command_line.hpp"
#include "page/svg/svg.hpp"
#include "page/text/plain.hpp"
#include "page/text/text.hpp"

namespace lab {

namespace {

/// For times, with how many there are in a second.
struct Unit {
  const char* name;
  double per_second;
};

Unit unit_for(double seconds) {
  if (seconds < 1e-3) return {"µs", 1e6};
  if (seconds < 1.0) return {"ms", 1e3};
  return {"s", 1.0};
}

}  // namespace

std::string report_heading(const std::string& title, const std::string& options) {
  return title + "\n" + attn::rule(attn::usual_width) + "\n" + attn::paragraph(options);
}

std::string digits(double value) {
  const int before_point = value > 0.0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  return fmt::format("{:.{}f}", value, std::clamp(3 - before_point, 0, 2));
}

std::string in_time(double seconds) {
  const auto unit = unit_for(seconds);
  return fmt::format("{} {}", digits(seconds * unit.per_second), unit.name);
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], attn::display_width(row[i]));
  std::size_t all = 2;
  for (const std::size_t column : widths) all += column;
  const std::size_t gap = all + 2 * (widths.size() - 1) <= attn::usual_width ? 2 : 1;

  std::string text;
  for (const auto& row : rows) {
    std::string line = "  " + attn::pad_right(row.front(), widths.front());
    for (std::size_t i = 1; i < row.size(); ++i)
      line += std::string(gap, ' ') + attn::pad_left(row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

namespace {

using attn::Curves;
using attn::bench::LengthResult;
using attn::bench::Pass;
using attn::bench::Result;
using attn::bench::Series;

/// A line for each kernel that was timed at two lengths or more.
template <class Value>
std::vector<Curves::Line> kernel_lines(const Result& result, Pass pass, const Value& value) {
  std::vector<Curves::Line> lines;
  for (const auto& growth : attn::bench::growth_of(result.lengths)) {
    if (growth.pass != pass) continue;
    auto& line = lines.emplace_back();
    line.name = growth.kernel;
    for (const auto& length : result.lengths) {
      const auto* series = length.find(growth.kernel, pass);
      line.values.push_back(series == nullptr ? std::numeric_limits<double>::quiet_NaN() : value(*series));
    }
  }
  return lines;
}

Curves on_logarithmic_scales(const Result& result, std::vector<Curves::Line> lines) {
  Curves curves;
  curves.axis = "n";
  curves.lines = std::move(lines);
  for (const auto& length : result.lengths) curves.positions.push_back(static_cast<double>(length.setting.n));
  curves.horizontal = attn::scale_of(curves.positions);
  curves.vertical = attn::scale_of_lines(curves.lines);
  curves.horizontal.is_logarithmic = curves.vertical.is_logarithmic = true;
  return curves;
}

double median_gflops(const std::vector<double>& rates) {
  return attn::bench::median(rates) / 1e9;
}

/// Median seconds of a run over n.
Curves time_curves(const Result& result, Pass pass) {
  return on_logarithmic_scales(result, kernel_lines(result, pass, [](const Series& series) {
                                 return attn::bench::median(series.seconds);
                               }));
}

/// Useful GFLOP/s beside those of the matrix product and of the loop in registers.
Curves rate_curves(const Result& result, Pass pass) {
  auto lines = kernel_lines(result, pass, [](const Series& series) { return median_gflops(series.rates()); });
  if (lines.empty()) return {};
  Curves::Line product{.name = "gemm", .values = {}}, peak{.name = "peak", .values = {}};
  for (const auto& length : result.lengths) {
    product.values.push_back(median_gflops(length.product_rates));
    peak.values.push_back(median_gflops(length.peak_rates));
  }
  lines.insert(lines.end(), {product, peak});
  return on_logarithmic_scales(result, std::move(lines));
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
  if (time_curves(report.result, Pass::forward).lines.empty())
    throw attn::Error(
        "--format svg draws times over n, and no kernel was timed at two lengths; valid: shorter --lengths "
        "or more --seconds");
  attn::SvgRenderer renderer({.lesson = "bench", .title = "Attention kernels as n grows", .config = {}});
  renderer.say("attnlab bench · " + options_line(config_of(report)));
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const auto name = name_of(pass);
    for (auto& [caption, curves] : {std::pair("Seconds of a run", time_curves(report.result, pass)),
                                    std::pair("Useful GFLOP/s", rate_curves(report.result, pass))})
      if (!curves.lines.empty()) renderer.add(fmt::format("{}, {}", caption, name), curves);
  }
  return renderer.finish();
}

namespace {

using attn::bench::Effort;
using attn::bench::Statistics;

std::string tick_text(double seconds) {
  const auto unit = unit_for(seconds);
  return fmt::format("{:.3g} {}", seconds * unit.per_second, unit.name);
}

std::string in_quartiles(const attn::bench::Quartiles& seconds) {
  const double per_second = unit_for(seconds.median).per_second;
  return digits(seconds.lower * per_second) + "–" + digits(seconds.upper * per_second);
}

const std::vector<Row> column_names = {
    {"", "", "", "GFLOP", "of", "of", "speed-", "", ""},
    {"kernel", "median", "quartiles", "/s", "gemm", "peak", "up", "memory", "rounding"}};

Row row_of(const Statistics& statistics) {
  const auto& trial = statistics.series->trial;
  return {statistics.series->kernel,
          in_time(statistics.seconds.median),
          in_quartiles(statistics.seconds),
          digits(statistics.rate / 1e9),
          fmt::format("{:.2f}", statistics.share_of_product),
          fmt::format("{:.2f}", statistics.share_of_peak),
          statistics.speedup ? digits(*statistics.speedup) : "",
          trial.extra_bytes ? attn::in_bytes(*trial.extra_bytes) : "",
          trial.error == 0.0 ? "0" : fmt::format("{:.0e}", trial.error)};
}

/// "  backward / forward: plain 2.1, simd 2.4"; nothing where no kernel has the ratio.
template <class Ratio>
std::string ratio_line(const std::string& name, const std::vector<Statistics>& all, Pass pass,
                       const Ratio& ratio_of, const char* format = "{} {:.2f}") {
  Row items;
  for (const auto& statistics : all)
    if (const auto ratio = ratio_of(statistics); statistics.series->pass == pass && ratio)
      items.push_back(fmt::format(fmt::runtime(format), statistics.series->kernel, *ratio));
  return items.empty() ? "" : attn::paragraph(fmt::format("{}: {}", name, fmt::join(items, ", ")));
}

/// Says how many rounds were run where time ran out.
std::string rounds_run(const LengthResult& result, const Effort& effort) {
  const auto rounds = result.product_rates.size();
  return static_cast<int>(rounds) < effort.rounds ? fmt::format("; {} of {} rounds", rounds, effort.rounds)
                                                  : "";
}

std::string table(const LengthResult& result, const Effort& effort, const std::vector<Statistics>& all,
                  Pass pass) {
  std::vector<Row> rows = column_names;
  for (const auto& statistics : all)
    if (statistics.series->pass == pass) rows.push_back(row_of(statistics));
  if (rows.size() == column_names.size()) return "";
  return fmt::format("\nn = {}, {}: gemm at {} GFLOP/s, peak at {}{}\n\n", result.setting.n, name_of(pass),
                     digits(median_gflops(result.product_rates)), digits(median_gflops(result.peak_rates)),
                     rounds_run(result, effort)) +
         aligned(rows) +
         ratio_line(
             "off from full attention", all, pass,
             [](const Statistics& one) { return one.series->trial.relative_error; }, "{} {:.2g}") +
         ratio_line("time / time with all keys visible", all, pass, std::mem_fn(&Statistics::of_full)) +
         ratio_line("time / time of forward", all, pass, std::mem_fn(&Statistics::of_forward));
}

std::string tables(const LengthResult& result, const Effort& effort) {
  const auto all = attn::bench::statistics_of(result);
  return table(result, effort, all, Pass::forward) + table(result, effort, all, Pass::backward);
}

std::string growth(const BenchReport& report) {
  const auto growths = attn::bench::growth_of(report.result.lengths);
  std::vector<Row> rows = {{"kernel", "pass", "exponent", "fitted over n ="}};
  for (const auto& growth : growths)
    rows.push_back({growth.kernel, std::string(name_of(growth.pass)),
                    growth.exponent ? fmt::format("{:.2f}", *growth.exponent) : "–",
                    fmt::format("{}", fmt::join(growth.lengths, ", "))});
  if (growths.empty()) return "";
  const bool is_fitted =
      std::all_of(growths.begin(), growths.end(), [](const auto& one) { return one.exponent.has_value(); });
  return "\nTime grows as a power of n\n\n" + aligned(rows) +
         (is_fitted ? "" : "\n" + attn::paragraph("–: two lengths give no exponent. Name three or more."));
}

std::string chart(const BenchReport& report, Pass pass) {
  const auto curves = time_curves(report.result, pass);
  if (curves.lines.empty()) return "";
  return fmt::format("\nTime of a run, {}, over n, both scales logarithmic\n\n", name_of(pass)) +
         attn::format_chart(curves, tick_text, attn::usual_width);
}

std::string omissions(const BenchReport& report) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> lengths;
  for (const auto& [kernel, n, reason] : report.result.omissions) lengths[{kernel, reason}].push_back(n);
  std::string text;
  for (const auto& [kernel_and_reason, ns] : lengths)
    text += attn::paragraph(fmt::format("{} at n = {}: {}", kernel_and_reason.first, fmt::join(ns, ", "),
                                        kernel_and_reason.second));
  return text.empty() ? "" : "\nLeft out\n\n" + text;
}

std::string legend() {
  const auto words = fmt::format(fmt::runtime(help_text("words of bench")), attn::bench::product_size);
  std::string text = "\nWhat the words mean\n\n";
  for (const auto& entry : entries_of(words)) {
    const auto colon = entry.find(": ");
    text += attn::hanging(attn::pad_right("  " + entry.substr(0, colon), 12),
                          attn::wrap(entry.substr(colon + 2), attn::usual_width - 12), 12);
  }
  return text;
}

}  // namespace

std::string bench_text(const BenchReport& report) {
  auto text = report_heading("bench: attention kernels timed against each other as n grows",
                             options_line(config_of(report)));
  for (const auto& result : report.result.lengths) text += tables(result, report.run.effort);
  return text + growth(report) + chart(report, Pass::forward) + chart(report, Pass::backward) +
         omissions(report) + legend();
}

}  // namespace lab

// attnlab bench --ranks: what ring attention takes on the ranks of mpirun.

#include "lab/ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "fast/bench/benchmark.hpp"
#include "lab/bench/bench.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

using attn::bench::median;
using attn::bench::median_ratio;
using attn::bench::RanksPass;
using attn::bench::RanksResult;
using Json = nlohmann::ordered_json;

constexpr std::size_t projected_tokens = std::size_t{1} << 20;
constexpr std::size_t projected_ranks[] = {8, 64, 1024};

/// Operations a second of one rank in the ring, over those of the kernel on a rank that is alone.
double share_of_one_rank(const RanksResult& result, const RanksPass& pass) {
  std::vector<double> rates;
  for (const double seconds : pass.seconds)
    rates.push_back(pass.operations / seconds / static_cast<double>(result.ranks));
  return median_ratio(rates, pass.one_rank_rates);
}

double largest_of(const auto& numbers) {
  return static_cast<double>(*std::max_element(numbers.begin(), numbers.end()));
}

Json config_of_ranks(const RunBench& run, const RanksResult& result) {
  const auto& setting = result.setting;
  return {{"ranks", result.ranks},
          {"hosts", result.hosts},
          {"order", name_of(result.order)},
          {"d_k", setting.d_k},
          {"d_v", setting.d_v},
          {"heads", setting.heads},
          {"kv_heads", setting.kv_heads},
          {"causal", setting.causal},
          {"window", setting.window ? Json(*setting.window) : Json()},
          {"dtype", run.dtype},
          {"threads", setting.threads},
          {"rounds", run.effort.rounds}};
}

std::string heading_of_ranks(const RunBench& run, const RanksResult& result) {
  const auto processors = std::thread::hardware_concurrency();
  const auto wanted = result.ranks * static_cast<std::size_t>(result.setting.threads);
  const auto crowded = result.hosts == 1 && wanted > processors
                           ? attn::paragraph(fmt::format(
                                 "{} threads share {} processors: no rank has its own.", wanted, processors))
                           : "";
  return report_heading("bench --ranks: one sequence on several ranks, keys and values going round",
                        options_line(config_of_ranks(run, result))) +
         crowded;
}

std::string table_of_ranks(const RanksResult& result) {
  std::vector<Row> rows = {
      {"", "", "GFLOP/s", "of one", "of one", "", "bytes sent", "memory", ""},
      {"pass", "median", "a rank", "rank", "process", "waiting", "a rank", "a rank", "error"}};
  for (const auto& pass : result.passes) {
    const double seconds = median(pass.seconds);
    rows.push_back(
        {std::string(name_of(pass.pass)), in_time(seconds),
         digits(pass.operations / seconds / static_cast<double>(result.ranks) / 1e9),
         fmt::format("{:.2f}", share_of_one_rank(result, pass)),
         pass.one_process.empty() ? "–" : fmt::format("{:.2f}", median_ratio(pass.seconds, pass.one_process)),
         fmt::format("{:.1f} %", 100.0 * median_ratio(pass.waiting, pass.seconds)),
         attn::in_bytes(largest_of(pass.bytes)), attn::in_bytes(largest_of(pass.memory)),
         pass.one_process.empty() ? "–"
         : pass.error == 0.0      ? "0"
                                  : fmt::format("{:.0e}", pass.error)});
  }
  auto text = fmt::format("\nn = {}\n\n", result.setting.n) + aligned(rows);
  for (const auto& pass : result.passes)
    text += attn::paragraph(
        fmt::format("{}: the ranks sent {} bytes, {}", name_of(pass.pass), fmt::join(pass.bytes, ", "),
                    pass.bytes == pass.formula
                        ? "which the formula gives exactly"
                        : fmt::format("where the formula gives {}", fmt::join(pass.formula, ", "))));
  if (result.ranks > 1)
    text += attn::paragraph(
        fmt::format("pairs that a rank computes, most over fewest: {:.2f}", result.imbalance));
  return text;
}

std::string projection_table(const RunBench& run, const RanksResult& result) {
  const auto& [latency, bandwidth] = result.link;
  if (result.ranks == 1) return "\n" + attn::paragraph("One rank sends nothing: no projection to more.");
  std::vector<Row> rows = {{"ranks", "computing", "transfer", "forward", "waiting", "memory a rank"}};
  const auto size_of_number = run.dtype == "float32" ? sizeof(float) : sizeof(double);
  for (const auto ranks : projected_ranks) {
    const auto one = attn::bench::project(result, projected_tokens, ranks, size_of_number);
    rows.push_back({fmt::format("{}", ranks), in_time(one.computing), in_time(one.transfer),
                    in_time(one.seconds), fmt::format("{:.1f} %", 100.0 * one.waiting),
                    attn::in_bytes(one.memory)});
  }
  return fmt::format("\nOn paper: {} tokens\n\n", projected_tokens) + aligned(rows) +
         attn::paragraph(fmt::format(
             fmt::runtime(entries_of(help_text("projection of bench --ranks"))[0]), result.setting.n,
             digits(result.passes.front().operations / median(result.passes.front().seconds) /
                    static_cast<double>(result.ranks) / 1e9),
             in_time(latency), in_time(static_cast<double>(1 << 23) / bandwidth),
             result.setting.causal ? " as with zig-zag blocks" : ""));
}

std::string ranks_text(const RunBench& run, const std::vector<RanksResult>& results) {
  auto text = heading_of_ranks(run, results.front());
  for (const auto& result : results) text += table_of_ranks(result);
  text += projection_table(run, results.back()) + "\nWhat the words mean\n\n";
  for (const auto& entry : entries_of(help_text("words of bench --ranks"))) text += attn::paragraph(entry);
  return text;
}

Json pass_json(const RanksResult& result, const RanksPass& pass) {
  const bool has_one = !pass.one_process.empty();
  return {{"pass", name_of(pass.pass)},
          {"operations", pass.operations},
          {"seconds", pass.seconds},
          {"waiting", pass.waiting},
          {"one_rank_gflops", median(pass.one_rank_rates) / 1e9},
          {"of_one_rank", share_of_one_rank(result, pass)},
          {"of_one_process", has_one ? Json(median_ratio(pass.seconds, pass.one_process)) : Json()},
          {"bytes", pass.bytes},
          {"bytes_by_formula", pass.formula},
          {"memory", pass.memory},
          {"max_error", has_one ? Json(pass.error) : Json()}};
}

std::string ranks_json(const RunBench& run, const std::vector<RanksResult>& results) {
  Json lengths = Json::array();
  for (const auto& result : results) {
    auto passes = Json::array();
    for (const auto& pass : result.passes) passes.push_back(pass_json(result, pass));
    lengths.push_back({{"n", result.setting.n},
                       {"imbalance", std::isfinite(result.imbalance) ? Json(result.imbalance) : Json()},
                       {"latency_seconds", result.link.latency},
                       {"bytes_per_second", result.link.bandwidth},
                       {"passes", passes}});
  }
  const Json document = {{"schema", "attnlab.bench-ranks/1"},
                         {"config", config_of_ranks(run, results.front())},
                         {"lengths", lengths}};
  return document.dump(2) + "\n";
}

BenchFormat format_on_ranks(const RunBench& run) {
  const auto ending = run.output ? std::filesystem::path(*run.output).extension().string() : "";
  const auto format = run.format.value_or(ending == ".json" ? BenchFormat::json : BenchFormat::text);
  if (format != BenchFormat::text && format != BenchFormat::json)
    throw attn::Error("--ranks is shown as text or json; valid: --format text or json");
  return format;
}

template <class T>
std::vector<RanksResult> measure_on_ranks(const RunBench& run, attn::fast::Network& network) {
  std::optional<ProgressBar> bar;
  if (is_first_rank()) bar.emplace();
  std::vector<RanksResult> results;
  for (const auto& setting : settings_of(run))
    results.push_back(attn::bench::run_on_ranks<T>(setting, run.order, network, run.effort.rounds,
                                                   [&](double share, const std::string& next) {
                                                     if (bar) bar->show(share, next);
                                                   }));
  return results;
}

}  // namespace

void run_bench_on_ranks(const RunBench& run) {
  const auto format = format_on_ranks(run);
  if (network() == nullptr)
    throw attn::Error(
        "--ranks times the ranks that mpirun starts, and it started none; valid: mpirun -n 2 attnlab bench "
        "--ranks (Debian's openmpi-bin, and libopenmpi-dev when attnlab is built)");
  if (run.output) require_writable(*run.output);
  const auto results = run.dtype == "float32" ? measure_on_ranks<float>(run, *network())
                                              : measure_on_ranks<double>(run, *network());
  const auto text = format == BenchFormat::json ? ranks_json(run, results) : ranks_text(run, results);
  run.output ? write_to_file(*run.output, text) : write_to_stdout(text);
}

}  // namespace lab

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "attn/error.hpp"
#include "lab/command_line.hpp"

namespace lab {

namespace {

using attn::Error;
using attn::bench::Scores;
using attn::simd::Isa;

const char* const what_is_measured = "What is measured";
const char* const how_it_is_measured = "How it is measured";
const char* const how_it_is_shown = "How it is shown";

template <class Choice>
Choices<Choice> named(const std::vector<Choice>& choices) {
  Choices<Choice> all;
  for (const Choice choice : choices) all.emplace_back(name_of(choice), choice);
  return all;
}

std::size_t count_of(std::string_view flag, const std::string& text, std::size_t smallest = 1) {
  std::optional<std::size_t> count;
  assign({.key = flag, .flag = flag, .value = "N", .help = ""}, count, text);
  if (*count < smallest)
    throw Error(
        fmt::format("--{} {} is out of range; valid: a whole number, {} or more", flag, text, smallest));
  return *count;
}

std::vector<std::size_t> lengths_of(const std::string& text) {
  std::vector<std::size_t> lengths;
  for (const auto& item : split(text, ',')) lengths.push_back(count_of("lengths", item));
  if (lengths.empty())
    throw Error(fmt::format("--lengths {} names no length; valid: whole numbers with commas between", text));
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

void add_measured(CLI::App& app, RunBench& run) {
  auto& setting = run.setting;
  const OptionGroup group(app, what_is_measured, "bench");
  const auto add_count = [&](const char* flag, auto& field, std::size_t smallest = 1) {
    group.add(flag, [=, &field](const std::string& text) { field = count_of(flag, text, smallest); });
  };
  group.add("lengths", [&](const std::string& text) { run.lengths = lengths_of(text); });
  add_count("d-k", setting.d_k);
  add_count("d-v", setting.d_v);
  add_count("heads", setting.heads);
  add_count("kv-heads", setting.kv_heads);
  group.add("causal", setting.causal);
  add_count("window", setting.window, 0);
  group.add_choice("dtype", run.dtype, {{"float32", "float32"}, {"float64", "float64"}});
  group.add_choice("scores", setting.scores, {{"normal", Scores::normal}, {"rising", Scores::rising}});
  group.add("backward", setting.backward);
  group.add("kernels", [&](const std::string& text) { run.kernels = split(text, ','); });
}

void add_how(CLI::App& app, RunBench& run) {
  const OptionGroup group(app, how_it_is_measured, "bench");
  group.add("ranks", run.on_ranks);
  group.add_choice("order", run.order, named(attn::fast::all_orders()));
  group.add_whole("threads", run.setting.threads, 1, 1024);
  group.add_choice("isa", run.isa, named(std::vector{Isa::generic, Isa::avx2, Isa::avx512}));
  group.add_whole("rounds", run.effort.rounds, 1, 1000000);
  group.add("seconds",
            [&](const std::string& text) { run.effort.seconds = parse_positive("seconds", text); });
}

/// Some options are about several kernels beside each other, and one about several ranks.
void check_ranks(const CLI::App& app, RunBench& run) {
  if (!run.on_ranks && app.count("--order") > 0)
    throw Error("--order is of the ranks' blocks; valid: with --ranks");
  if (!run.on_ranks) return;
  for (const auto* flag : {"--kernels", "--scores", "--isa", "--seconds"})
    if (app.count(flag) > 0)
      throw Error(
          fmt::format("{} is no option beside --ranks, which times one kernel; valid: without it", flag));
  if (app.count("--lengths") == 0) run.lengths = {4096};
}

void check_heads(const attn::bench::Setting& setting) {
  if (setting.heads % setting.kv_heads == 0) return;
  constexpr std::size_t most = 1000;
  std::vector<std::size_t> divisors;
  for (std::size_t count = 1; count <= std::min(setting.heads, most); ++count)
    if (setting.heads % count == 0) divisors.push_back(count);
  throw Error(fmt::format("--kv-heads {} does not divide --heads {}; valid: --kv-heads {}", setting.kv_heads,
                          setting.heads, fmt::join(divisors, ", ")));
}

}  // namespace

Command parse_bench(int argc, char** argv) {
  CLI::App app(about_command("bench"), "attnlab bench");
  prepare(app, examples_of("bench"));
  RunBench run;
  add_measured(app, run);
  add_how(app, run);
  const OptionGroup shown(app, how_it_is_shown, "bench");
  shown.add_choice("format", run.format, bench_formats);
  shown.add("output", run.output);
  if (const auto help = read_all_arguments(app, "bench", argc, argv, how_it_is_shown)) return *help;
  if (app.count("--d-v") == 0) run.setting.d_v = run.setting.d_k;
  if (app.count("--kv-heads") == 0) run.setting.kv_heads = run.setting.heads;
  check_heads(run.setting);
  check_ranks(app, run);
  return [run] {
    run_bench(run);
    return 0;
  };
}

}  // namespace lab

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
std::vector<std::pair<std::string, Choice>> named(const std::vector<Choice>& choices) {
  std::vector<std::pair<std::string, Choice>> all;
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
  const OptionGroup group(app, what_is_measured);
  const auto add_count = [&](const char* flag, const char* help, auto& field, std::size_t smallest = 1) {
    group.add(flag, "N", help,
              [=, &field](const std::string& text) { field = count_of(flag, text, smallest); });
  };
  group.add("lengths", "N,N,...", "numbers of tokens n; default 128,256,512,1024,2048",
            [&](const std::string& text) { run.lengths = lengths_of(text); });
  add_count("d-k", "numbers in a query and in a key; default 64", setting.d_k);
  add_count("d-v", "numbers in a value; default d_k", setting.d_v);
  add_count("heads", "attention heads; default 8", setting.heads);
  add_count("kv-heads", "key and value heads, each shared by heads / N query heads; default heads",
            setting.kv_heads);
  group.add_flag("causal", "hide every later token", setting.causal);
  add_count("window", "hide every token more than N positions away", setting.window, 0);
  group.add_choice("dtype", "element type; default float32", run.dtype,
                   {{"float32", "float32"}, {"float64", "float64"}});
  group.add_choice(
      "scores",
      "rising: each key scores more than the one before, so that running maxima are rescaled all the time; "
      "default normal",
      setting.scores, {{"normal", Scores::normal}, {"rising", Scores::rising}});
  group.add_flag("backward", "measure the gradients, too, of the kernels that have them", setting.backward);
  group.add(
      "kernels", "NAME,NAME,...",
      "only these, or those of a variant as the lesson efficient calls it (full, flash, sparse, linear); "
      "default all",
      [&](const std::string& text) { run.kernels = split(text, ','); });
}

void add_how(CLI::App& app, RunBench& run) {
  const OptionGroup group(app, how_it_is_measured);
  group.add_flag("ranks", "on the ranks that mpirun started: mpirun -n 2 attnlab bench --ranks",
                 run.on_ranks);
  group.add_choice("order", "of the ranks' blocks; default contiguous", run.order,
                   named(attn::fast::all_orders()));
  group.add_whole("threads", "threads, for BLAS as well; default 1", run.setting.threads, 1, 1024);
  group.add_choice("isa", "instruction set of the kernels and of BLAS; default the best that there is",
                   run.isa, named(std::vector{Isa::generic, Isa::avx2, Isa::avx512}));
  group.add_whole("rounds", "rounds at each length; default 7", run.effort.rounds, 1, 1000000);
  group.add("seconds", "X",
            "time for all rounds, after one trial of each kernel; the slowest kernels are left out where "
            "they would take longer; default 60",
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
  const OptionGroup shown(app, how_it_is_shown);
  shown.add_choice("format", "default text, or what the ending of --output says", run.format,
                   {{"text", BenchFormat::text},
                    {"json", BenchFormat::json},
                    {"csv", BenchFormat::csv},
                    {"svg", BenchFormat::svg}});
  shown.add("output", "FILE", "write to a file, whole or not at all; default standard output", run.output);
  if (const auto help = read_all_arguments(app, "bench", argc, argv, how_it_is_shown)) return *help;
  if (app.count("--d-v") == 0) run.setting.d_v = run.setting.d_k;
  if (app.count("--kv-heads") == 0) run.setting.kv_heads = run.setting.heads;
  check_heads(run.setting);
  check_ranks(app, run);
  return run;
}

}  // namespace lab

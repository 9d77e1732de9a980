#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "lab/command_line.hpp"
#include "trace/file.hpp"
#include "trace/model.hpp"

namespace lab {

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& task : attn::train::tasks()) names.push_back(task.name);
  return names;
}

namespace {

using attn::Error;
using attn::train::TaskEntry;

constexpr int default_threads = 2, most = 1000000;

const char* const how_it_is_trained = "How it is trained";
const char* const what_is_trained = "The model; each task has its own defaults";
const char* const where_it_goes = "Where it goes";

std::string about_training() {
  std::string tasks;
  for (const auto& task : attn::train::tasks())
    tasks += fmt::format("  {:<12} {}\n", task.name, task.summary);
  return about_command("train") + "\nTasks:\n" + tasks;
}

[[noreturn]] void refuse_no_task() {
  throw Error(fmt::format("train: no task is given; valid: attnlab train {}", fmt::join(task_names(), "|")));
}

const TaskEntry& task_named(const std::string& name) {
  for (const auto& task : attn::train::tasks())
    if (task.name == name) return task;
  throw Error(
      fmt::format("train: there is no task \"{}\"; {}", name, attn::valid_instead_of(name, task_names())));
}

void add_settings(CLI::App& app, RunTraining& run) {
  const OptionGroup group(app, how_it_is_trained, "train");
  auto& settings = run.settings;
  group.add_whole("steps", settings.steps, 1, most);
  group.add_whole("batch", settings.batch, 1, most);
  group.add("rate", [&](const std::string& text) { settings.rate = parse_positive("rate", text); });
  group.add_whole("warm-up", settings.warm_up, 1, most);
  group.add("clip", [&](const std::string& text) { settings.largest_norm = parse_positive("clip", text); });
  group.add("dropout", [&](const std::string& text) {
    settings.dropout = parse_tolerance("dropout", text);
    if (settings.dropout >= 1)
      throw Error(fmt::format("--dropout {} is out of range; valid: from 0 to below 1", text));
  });
  group.add_whole("seed", settings.seed, 0, 2147483647);
  group.add_whole("threads", settings.threads, 1, 64);
  group.add("resume", run.resume);
}

void add_sizes(CLI::App& app, RunTraining& run) {
  const OptionGroup group(app, what_is_trained, "train");
  auto& options = run.options;
  group.add("grammar", options.grammar);
  group.add("attention", options.attention);
  group.add("positions", options.positions);
  for (const std::string flag : {"d-model", "heads", "d-k", "d-v", "d-ff", "layers", "hidden", "d-a"})
    group.add(flag, [&options, flag](const std::string& text) {
      options.sizes[flag] = static_cast<std::size_t>(parse_whole(flag, text, flag == "d-ff" ? 0 : 1, most));
    });
}

void add_outputs(CLI::App& app, RunTraining& run) {
  const OptionGroup group(app, where_it_goes, "train");
  group.add("output", run.output);
  group.add_choice("dtype", run.dtype, {{"float16", "float16"}, {"float32", "float32"}});
  group.add("without-weights", run.without_weights);
  group.add("pharaoh", run.pharaoh);
}

/// Options that a task does not read are refused.
void refuse_foreign(const TaskEntry& task, const RunTraining& run) {
  const auto& options = run.options;
  const bool translates = task.name == "translation" || task.name == "dates";
  const bool has_grammar = task.name == "translation" || task.name == "language";
  const auto refuse_where = [&](bool is_foreign, std::string_view flag) {
    if (is_foreign) throw Error(fmt::format("train {}: --{} does not concern this task", task.name, flag));
  };
  refuse_where(!has_grammar && options.grammar, "grammar");
  refuse_where(!translates && options.attention, "attention");
  refuse_where(!translates && options.sizes.count("hidden") > 0, "hidden");
  refuse_where(!translates && options.sizes.count("d-a") > 0, "d-a");
  refuse_where(task.name != "translation" && run.pharaoh, "pharaoh");
}

/// The settings of a transformer in place of the task's own model, but for those that were typed.
void follow_attention(CLI::App& app, const TaskEntry& task, RunTraining& run) {
  if (run.options.attention != "transformer" || !task.of_transformer) return;
  run.settings = *task.of_transformer;
  run.settings.threads = default_threads;
  for (auto* option : app.get_options())
    if (option->get_group() == how_it_is_trained && option->count() > 0) option->run_callback();
}

/// The settings of the interrupted training, but for those that were typed: `resume` refuses these where they
/// differ. What it ends in is what its first command would have made.
void follow_resumed(CLI::App& app, RunTraining& run) {
  if (!run.resume) return;
  const auto model = attn::read_model(*run.resume);
  for (const auto* settings : {&model.training, &model.configuration})
    for (const auto& [name, value] : *settings) {
      auto flag = "--" + name;
      std::replace(flag.begin(), flag.end(), '_', '-');
      auto* option = app.get_option_no_throw(flag);
      if (option == nullptr || option->count() > 0) continue;
      option->add_result(value);
      option->run_callback();
    }
  run.command = model.command;
}

}  // namespace

Command parse_train(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty()) refuse_no_task();
  const bool names_task = !first.starts_with("-");
  const TaskEntry& task = names_task ? task_named(first) : attn::train::tasks().front();
  RunTraining run = {.task = &task,
                     .settings = task.settings,
                     .output = task.name + ".safetensors",
                     .command = fmt::format("attnlab {}", fmt::join(argv, argv + argc, " "))};
  run.settings.threads = default_threads;
  CLI::App app(about_training(), "attnlab train TASK");
  prepare(app, examples_of("train"));
  add_settings(app, run);
  add_sizes(app, run);
  add_outputs(app, run);
  const int shift = names_task ? 1 : 0;
  if (const auto help = read_all_arguments(app, "train", argc - shift, argv + shift, where_it_goes,
                                           "one task, then options"))
    return *help;
  if (!names_task) refuse_no_task();
  refuse_foreign(task, run);
  follow_resumed(app, run);
  follow_attention(app, task, run);
  if (app.count("--steps") > 0 && app.count("--warm-up") == 0)
    run.settings.warm_up = std::max<std::size_t>(run.settings.steps / 20, 1);
  run.options.seed = run.settings.seed;
  run.options.corpora = attn::data_folder("corpora");
  run.options.lexicon = attn::data_folder("lexicon") + "/english.txt";
  return [run] { return run_training(run); };
}

}  // namespace lab

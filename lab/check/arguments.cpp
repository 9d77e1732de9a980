#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>
#include <utility>

#include "attn/error.hpp"
#include "lab/check/check.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lessons/workbench/exercises.hpp"
#include "trace/diagnosis/dump.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::Lesson;

const char* const of_command = "Of this command";

bool asks_for_help(int argc, char** argv) {
  return argc == 2 && is_help(argv[1]);
}

/// Reads what follows the lesson, or, where none is named, the wish for help.
std::optional<PrintText> read_after_lesson(CLI::App& app, const std::string& command, int argc, char** argv) {
  const int lessons = asks_for_help(argc, argv) ? 0 : 1;
  return read_all_arguments(app, command, argc - lessons, argv + lessons, of_command);
}

/// Without the window of a probe that hides the future, too.
void add_no_window(CLI::App& app, const Lesson& lesson, lessons::Options& options) {
  if (!lesson.defaults.window || !lesson.defaults.causal) return;
  OptionGroup(app, what_is_computed).add_flag("no-window", "without --window", [&] {
    if (!options.typed.insert("window").second && options.window)
      throw Error("--window contradicts --no-window; valid: one of them");
    options.window.reset();
  });
}

/// What shows mistakes are numbers that are drawn.
void refuse_model(const std::string& command, const lessons::Options& options) {
  if (options.is_typed("model") && options.model != "none")
    throw Error(
        fmt::format("{}: --model {}: its numbers are drawn, so that mistakes show; valid: --model none, "
                    "or no --model",
                    command, *options.model));
}

/// What all lessons that the command knows have in common, for the help without a lesson.
Lesson any_lesson(std::string_view command) {
  Lesson any{};
  any.name = "LESSON";
  any.inputs = [](const lessons::Options&) {
    return std::vector<lessons::Input>{{.id = "those of the lesson", .axes = {}}};
  };
  const auto lessons = lessons_of(command);
  any.options = lessons.front()->options;
  for (const auto* lesson : lessons)
    std::erase_if(any.options, [&](std::string_view key) { return !lesson->uses(key); });
  any.probe.emplace();
  return any;
}

/// Where the help is of no lesson: which there are.
std::string lessons_in_help(std::string_view command, bool is_on_any) {
  if (!is_on_any) return "";
  return "\n" +
         help_paragraph(fmt::format("LESSON is one of {}. attnlab {} LESSON --help lists the options that "
                                    "this lesson has, too.",
                                    fmt::join(names_of(lessons_of(command)), ", "), command)) +
         "\n";
}

void add_framework(const OptionGroup& group, CheckDump& check) {
  std::vector<std::string_view> names;
  for (const auto& framework : attn::frameworks()) names.push_back(framework.name);
  group.add(
      "like", fmt::format("{}", fmt::join(names, "|")),
      "the conventions of a framework: what true means in a mask, the corner of a causal one, rows that see "
      "nothing, the pairs of RoPE, sines beside cosines, the order of gates, how Q, K and V are fused",
      [&check, names](const std::string& text) {
        const auto* const framework = attn::find_framework(text);
        if (framework == nullptr)
          throw Error(fmt::format("--like {} is unknown; valid: {}", text, fmt::join(names, ", ")));
        check.conventions = framework->conventions;
        check.options.mask_true = framework->mask_true;
        check.fused = framework->fused;
      });
}

}  // namespace

Command parse_check(int argc, char** argv) {
  const auto any = any_lesson("check");
  const bool is_on_any = asks_for_help(argc, argv);
  CheckDump check{.lesson = is_on_any ? &any : &lesson_asked_for("check", argc, argv)};
  const auto command = fmt::format("check {}", check.lesson->name);
  CLI::App app(about_command("check"), "attnlab " + command);
  prepare(app, examples_of("check") + lessons_in_help("check", is_on_any));
  std::string dump;
  app.add_option("DUMP", dump, "tensors of your program")->type_name("FILE");
  const OptionGroup group(app, of_command, "check");
  group.add("probe", check.probe);
  group.add("output", check.output);
  group.add("junit", check.junit);
  group.add("folder", check.folder);
  group.add("hint", [&](const std::string& text) {
    check.hint = static_cast<attn::Hint>(parse_whole("hint", text, 1, 3) - 1);
  });
  group.add("reveal", check.reveals);
  add_renames_option(group, check.renames);
  add_framework(group, check);
  group.add_choice("format", check.format,
                   {{"text", CheckFormat::text}, {"json", CheckFormat::json}, {"csv", CheckFormat::csv}});
  add_paging_option(app, check.paging)->group(of_command);
  add_lesson_options(app, *check.lesson, check.options);
  if (const auto help = read_after_lesson(app, command, argc, argv)) return *help;
  if (dump.empty() == !check.folder)
    throw Error(fmt::format("{}: {}; valid: attnlab {} DUMP, or --folder DIR", command,
                            dump.empty() ? "no file is given" : "a file is given beside --folder", command));
  if (check.junit) require_writable(*check.junit, "--junit");
  if (check.folder && check.output &&
      (check.output->ends_with('/') || std::filesystem::is_directory(*check.output)))
    check.reports = std::exchange(check.output, std::nullopt);
  if (check.probe && !check.options.input.empty())
    throw Error(fmt::format("{}: --probe and --input both have the inputs; valid: one of the two", command));
  if (!dump.empty()) check.dump = dump;
  return [check] { return run_check(check); };
}

Command parse_probe(int argc, char** argv) {
  const bool is_on_any = asks_for_help(argc, argv);
  MakeProbe probe{.lesson = lessons::lesson_of_probe(is_on_any ? any_lesson("probe")
                                                               : lesson_asked_for("probe", argc, argv))};
  const auto command = fmt::format("probe {}", probe.lesson->name);
  CLI::App app(about_command("probe"), "attnlab " + command);
  prepare(app, examples_of("probe") + lessons_in_help("probe", is_on_any));
  const OptionGroup group(app, of_command, "probe");
  group.add("output", probe.output);
  group.add("audit", probe.is_audit);
  add_paging_option(app, probe.paging)->group(of_command);
  add_lesson_options(app, *probe.lesson, probe.options);
  add_no_window(app, *probe.lesson, probe.options);
  add_seeds_option(app, what_is_computed,
                   "other numbers, or a probe for each of these seeds, in a file each with its task beside "
                   "it; default 42",
                   probe.options, probe.last_seed);
  group.add("names", probe.names);
  if (const auto help = read_after_lesson(app, command, argc, argv)) return *help;
  refuse_model(command, probe.options);
  const bool are_several = probe.last_seed || probe.names;
  if (probe.last_seed && probe.names)
    throw Error(fmt::format("{}: --names has a seed for each name; valid: one --seed, the first", command));
  if (are_several && probe.is_audit)
    throw Error(fmt::format("{}: --audit is of dimensions, not of seeds; valid: no --{}", command,
                            probe.names ? "names" : "seed"));
  if (are_several && probe.output) {
    if (std::filesystem::is_directory(*probe.output) || probe.output->ends_with('/'))
      probe.output = (std::filesystem::path(*probe.output) / "probe.npz").string();
    if (!std::filesystem::path(*probe.output).has_extension()) *probe.output += ".npz";
  }
  const std::set<std::string> endings = {".npz", ".safetensors", ".json"};
  if (probe.output && endings.count(std::filesystem::path(*probe.output).extension().string()) == 0)
    throw Error(fmt::format("{}: --output {} ends in no format; valid: .npz, .safetensors, .json", command,
                            *probe.output));
  if (!probe.output && !probe.is_audit)
    throw Error(fmt::format("{}: no --output is given; valid: --output FILE.npz, or --audit", command));
  return [probe] { return run_probe(probe); };
}

Command parse_break(int argc, char** argv) {
  const bool is_on_any = asks_for_help(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "--list") {
    if (argc > 3)
      throw Error(fmt::format("break --list: \"{}\" is one too many; valid: one lesson", argv[3]));
    const auto* lesson = argc == 2 ? nullptr : &lesson_asked_for("break --list", argc - 1, argv + 1);
    return [lesson] { return list_mistakes(lesson); };
  }
  BreakLesson broken{.lesson = lessons::lesson_of_probe(is_on_any ? any_lesson("break")
                                                                  : lesson_asked_for("break", argc, argv))};
  const auto command = fmt::format("break {}", broken.lesson->name);
  CLI::App app(about_command("break"), "attnlab " + command);
  prepare(app, examples_of("break") + lessons_in_help("break", is_on_any));
  app.add_option("MISTAKE", broken.mistake, "of attnlab break --list")->type_name("ID");
  OptionGroup(app, of_command, "break").add("output", broken.output);
  add_paging_option(app, broken.paging)->group(of_command);
  add_lesson_options(app, *broken.lesson, broken.options);
  add_no_window(app, *broken.lesson, broken.options);
  if (const auto help = read_after_lesson(app, command, argc, argv)) return *help;
  refuse_model(command, broken.options);
  if (broken.mistake.empty())
    throw Error(fmt::format("{}: no mistake is given; valid: one of attnlab break --list {}", command,
                            broken.lesson->name));
  return [broken] { return run_break(broken); };
}

}  // namespace lab

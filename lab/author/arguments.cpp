#include "lab/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "attn/error.hpp"
#include "lab/command_line.hpp"
#include "lab/lesson_arguments.hpp"

namespace lab {

namespace {

using attn::Error;

const char* const about_run =
    "run: a lesson of your own, a document with formulas\n"
    "\n"
    "FILE.md states the lesson: its options, its inputs, its steps as formulas, its claims. It runs as the "
    "lab's own lessons do, with every format and with --explain and --define. attnlab probe FILE.md, check, "
    "break and worksheet take it, too. attnlab lesson new NAME writes one to begin with; how to write it "
    "stands in lessons/README.md. attnlab run FILE.md --help lists the options that it has.";

const char* const about_author =
    "lesson: write a lesson of your own, and check it\n"
    "\n"
    "attnlab lesson new NAME writes NAME.md, a lesson that runs, for you to change; with --from LESSON it is "
    "a copy of that lesson. attnlab lesson check "
    "FILE, or the name of a lesson that is a document, "
    "says what is wrong with a document, with line and column: a name that nothing has, a formula that does "
    "not fit, a claim that does not hold, a page that is too long. How to write one stands in "
    "lessons/README.md.";

bool asks_for_help(std::string_view argument) {
  return argument == "--help" || argument == "-h";
}

/// "cosine.md" of cosine.
std::string file_of(const std::string& name) {
  return name.ends_with(".md") ? name : name + ".md";
}

}  // namespace

Command parse_own_lesson(int argc, char** argv) {
  CLI::App app(help_paragraph(about_run) + "\n", "attnlab run FILE.md");
  prepare(app, help_examples({"run cosine.md", "run cosine.md --sentence \"i love cats\" --format json"}));
  app.set_help_flag("--help,-h", "this page");
  if (argc > 1 && asks_for_help(argv[1])) return *read_arguments(app, "run", argc, argv);
  if (argc < 2 || argv[1][0] == '-')
    throw Error("run: no document is given; valid: attnlab run FILE.md, and then options");
  if (const auto* lesson = lessons::lesson_named(argv[1])) return parse_lesson(*lesson, argc - 1, argv + 1);
  throw Error(fmt::format("run {}: that is neither a document nor a lesson; valid: FILE.md", argv[1]));
}

Command parse_author(int argc, char** argv) {
  std::string task, name, from;
  auto paging = Paging::automatic;
  CLI::App app(help_paragraph(about_author) + "\n", "attnlab lesson");
  prepare(app,
          help_examples({"lesson new cosine", "lesson new mine --from multihead", "lesson check cosine.md"}));
  app.add_option("TASK", task, "new or check")->type_name("new|check");
  app.add_option("NAME", name, "of the new lesson, or the file to check")->type_name("NAME");
  app.add_option("--from", from, "the lesson of the lab that the new one is a copy of")->type_name("LESSON");
  add_paging_option(app, paging);
  app.set_help_flag("--help,-h", "this page");
  if (const auto help = read_arguments(app, "lesson", argc, argv)) return *help;
  refuse_extras(app, "lesson");
  if (task != "new" && task != "check")
    throw Error(fmt::format("lesson{}; valid: attnlab lesson new NAME, attnlab lesson check FILE",
                            task.empty() ? ": no task is given" : fmt::format(" {} is unknown", task)));
  if (name.empty()) throw Error(fmt::format("lesson {0}: valid: attnlab lesson {0} NAME", task));
  if (task == "new") return NewLesson{file_of(name), from};
  if (!from.empty())
    throw Error("lesson check does not use --from; valid: attnlab lesson new NAME --from LESSON");
  return CheckLesson{file_of(name), paging};
}

}  // namespace lab

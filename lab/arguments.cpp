#include "lab/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"
#include "lab/check/arguments.hpp"
#include "lab/command_line.hpp"
#include "lab/diff/diff.hpp"
#include "lab/lesson_arguments.hpp"
#include "lab/worksheet/arguments.hpp"
#include "lessons/numbers/page.hpp"

namespace lab {

namespace {

using attn::Error;

std::string general_help() {
  std::string text =
      "attnlab: a laboratory for watching attention, number by number\n\n"
      "Usage: attnlab LESSON [options]\n";
  for (const auto& line : command_lines())
    text += fmt::format("       attnlab {:<22}{}\n", fmt::format("{} {}", line.name, line.arguments),
                        line.summary);
  text +=
      "       attnlab LESSON --help\n"
      "       attnlab --help numbers        NumPy code for every number drawn\n\n"
      "Lessons, in the order in which to learn them:\n";
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format("{:<18} {}\n", lesson->name, lesson->title);
  return text +
         "\nExit status: 0 where all that is claimed holds, 1 where something does not,\n"
         "2 for bad usage or bad input.\n";
}

/// What was asked for after "--help".
std::string help_on(const std::string& topic) {
  if (topic != "numbers")
    throw Error(
        fmt::format("there is no help on \"{}\"; valid: attnlab --help, attnlab --help numbers, attnlab "
                    "LESSON --help",
                    topic));
  return std::string(lessons::numbers_page());
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto* lesson : lessons::all_lessons()) names.emplace_back(lesson->name);
  for (const auto& line : command_lines()) names.emplace_back(line.name);
  return names;
}

}  // namespace

Command parse(int argc, char** argv) {
  if (argc < 2) return PrintText{general_help()};
  for (int i = 1; i < argc; ++i) attn::require_valid_utf8(argv[i], fmt::format("argument {}", i));
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help")
    return PrintText{argc > 2 ? help_on(argv[2]) : general_help()};
  if (name == "--version") return PrintText{"attnlab " ATTNLAB_VERSION "\n"};
  if (name == "tour") return parse_tour(argc - 1, argv + 1);
  if (name == "diff") return parse_diff(argc - 1, argv + 1);
  if (name == "check") return parse_check(argc - 1, argv + 1);
  if (name == "probe") return parse_probe(argc - 1, argv + 1);
  if (name == "break") return parse_break(argc - 1, argv + 1);
  if (name == "worksheet") return parse_worksheet(argc - 1, argv + 1);
  if (name == "bench") return parse_bench(argc - 1, argv + 1);
  if (name == "train") return parse_train(argc - 1, argv + 1);
  if (name == "book") return parse_book(argc - 1, argv + 1);
  if (name == "manual") return parse_manual(argc - 1, argv + 1);
  if (name == "completions") return parse_completions(argc - 1, argv + 1);
  if (name == "list") {
    if (argc == 3 && (std::string_view(argv[2]) == "--help" || std::string_view(argv[2]) == "-h"))
      return PrintText{"attnlab list: the lessons in the order in which to learn them, one per line\n"};
    if (argc > 2)
      throw Error(fmt::format("list takes no argument, but \"{}\" is given; valid: attnlab list", argv[2]));
    return ListLessons{};
  }
  if (name == "run") return parse_own_lesson(argc - 1, argv + 1);
  if (name == "lesson") return parse_author(argc - 1, argv + 1);
  if (const auto* lesson = lessons::lesson_named(name)) return parse_lesson(*lesson, argc - 1, argv + 1);
  if (name.starts_with('-'))
    throw Error(fmt::format(
        "\"{}\" stands where the lesson belongs; valid: attnlab LESSON [options], attnlab list, "
        "attnlab tour, attnlab book, attnlab diff A B, attnlab check LESSON DUMP, attnlab probe LESSON, "
        "attnlab break LESSON MISTAKE, attnlab worksheet LESSON, attnlab bench, attnlab train TASK, "
        "attnlab manual, attnlab completions SHELL, "
        "attnlab --help, attnlab --version",
        name));
  throw Error(
      fmt::format("there is no lesson \"{}\"; {}", name, valid_instead_of_lesson(name, command_names())));
}

}  // namespace lab

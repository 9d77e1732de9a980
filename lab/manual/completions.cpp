#include "lab/manual/completions.hpp"

#include <algorithm>

#include "lab/check/break.hpp"
#include "lab/command_line.hpp"
#include "lab/manual/help_of.hpp"
#include "lab/manual/manual.hpp"
#include "lab/option_values.hpp"

namespace lab {

namespace {

using lessons::Lesson;

std::vector<std::string> names_of(const std::vector<const Lesson*>& list) {
  std::vector<std::string> names;
  for (const auto* lesson : list) names.emplace_back(lesson->name);
  return names;
}

bool has_worksheet(const Lesson& lesson) {
  return lesson.worksheet.has_value();
}

bool can_be_checked(const Lesson& lesson) {
  return lesson.probe || lesson.worksheet;
}

std::vector<const Lesson*> lessons_where(bool (*is_one)(const Lesson&)) {
  std::vector<const Lesson*> result;
  for (const auto* lesson : lessons::all_lessons())
    if (is_one(*lesson)) result.push_back(lesson);
  return result;
}

bool is_placeholder(const std::string& part) {
  return part.empty() || (part.front() >= 'A' && part.front() <= 'Z');
}

/// What "strided|fixed|random|FILE" lets follow the option.
Choices choices_of(const std::string& value) {
  Choices choices{.takes_value = !value.empty()};
  for (const auto& part : split(value, '|')) {
    if (part == "FILE") choices.files = true;
    if (part == "DIR") choices.folders = true;
    if (part == "LESSON") choices.words = names_of(lessons::all_lessons());
    if (!is_placeholder(part)) choices.words.push_back(part);
  }
  return choices;
}

/// The help up to its first ; or : on one line.
std::string summary_of(const std::string& text) {
  auto summary = text.substr(0, text.find_first_of(";:"));
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  return summary;
}

std::vector<CompletedOption> options_in(const CommandHelp& help, bool of_lesson) {
  std::vector<CompletedOption> options;
  for (const auto& option : help.options)
    if (option.names.front().starts_with('-') && (option.group == what_is_computed) == of_lesson)
      options.push_back({option.names, summary_of(option.text), choices_of(option.value)});
  return options;
}

CompletedCommand completed_lesson(const Lesson& lesson) {
  const auto help = help_of({std::string(lesson.name)});
  CompletedCommand command{.name = std::string(lesson.name),
                           .summary = std::string(lesson.title),
                           .own = options_in(help, false),
                           .of_lesson = options_in(help, true)};
  if (lesson.trained)
    for (auto& option : command.of_lesson)
      if (option.names.front() == "--model")
        option.choices.words.emplace_back(lesson.trained->default_model());
  return command;
}

CompletedCommand completed_command(const CommandLine& line) {
  CompletedCommand command{.name = std::string(line.name), .summary = std::string(line.summary)};
  const auto topics = manual_topics();
  if (std::find(topics.begin(), topics.end(), line.name) == topics.end()) {
    command.own = {{{"--help", "-h"}, "this page", {.takes_value = false}}};
    return command;
  }
  const auto help =
      is_on_lessons(line.name) ? help_of_command_on_lessons(line.name) : help_of({command.name});
  command.own = options_in(help, false);
  if (const auto computed = options_in(help, true); !computed.empty())
    command.own.insert(command.own.end(), computed.begin(), computed.end());
  if (line.name == "break") command.own.push_back({{"--list"}, "name the mistakes", {.takes_value = false}});
  return command;
}

}  // namespace

CompletedProgram completed_program() {
  CompletedProgram program{.lessons = names_of(lessons::all_lessons()),
                           .lessons_with_probe = names_of(lessons_with_probe()),
                           .lessons_with_worksheet = names_of(lessons_where(has_worksheet)),
                           .lessons_to_check = names_of(lessons_where(can_be_checked)),
                           .topics = manual_topics()};
  for (const auto* lesson : lessons::all_lessons()) program.commands.push_back(completed_lesson(*lesson));
  for (const auto& line : command_lines()) program.commands.push_back(completed_command(line));
  for (const auto* lesson : lessons_with_probe())
    program.mistakes[std::string(lesson->name)] = mistakes_of_probe(*lesson);
  for (const auto& task : attn::train::tasks()) program.tasks.push_back(task.name);
  return program;
}

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names = {"bash", "zsh", "fish"};
  return names;
}

std::string completions(const PrintCompletions& completions) {
  const auto program = completed_program();
  if (completions.shell == "bash") return bash_completions(program);
  return completions.shell == "zsh" ? zsh_completions(program) : fish_completions(program);
}

}  // namespace lab

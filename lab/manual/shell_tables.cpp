#include "lab/manual/shell_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lab/manual/manual.hpp"

namespace lab {

namespace {

/// Calls `visit` for every option of every command.
template <class Visit>
void visit_options_of(const CompletedProgram& program, Visit&& visit) {
  for (const auto& command : program.commands)
    for (const auto* list : {&command.own, &command.of_lesson})
      for (const auto& option : *list)
        for (const auto& name : option.names) visit(command.name, name, option.choices);
}

/// The text that most names have.
NamesByText::const_iterator most_common(const NamesByText& names_by_text) {
  return std::max_element(names_by_text.begin(), names_by_text.end(),
                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
}

std::string branch(const std::vector<std::string>& patterns, const std::string& action) {
  return fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), action);
}

std::string action_for(const Choices& choices) {
  if (!choices.takes_value) return "return 1";
  const auto words = words_of(choices);
  return words.empty() ? ":" : "echo " + quoted_for_shell(words);
}

/// "sdpa --mask" for the commands whose option differs from that of most, and then *" --mask".
std::string branches_of_values(const CompletedProgram& program) {
  std::map<std::string, NamesByText> commands_by_action;
  visit_options_of(program, [&](const auto& command, const auto& option, const Choices& choices) {
    commands_by_action[option][action_for(choices)].push_back(command);
  });
  NamesByText special, common;
  for (const auto& [option, by_action] : commands_by_action) {
    const auto most = most_common(by_action);
    common[most->first].push_back(fmt::format("*\" {}\"", option));
    for (const auto& [action, commands] : by_action)
      if (action != most->first)
        for (const auto& command : commands)
          special[action].push_back(fmt::format("\"{} {}\"", command, option));
  }
  common.erase("return 1");
  std::string text;
  for (const auto& [action, patterns] : special) text += branch(patterns, action);
  for (const auto& [action, patterns] : common) text += branch(patterns, action);
  return text + branch({"*"}, "return 1");
}

std::string branches_of_arguments(const CompletedProgram& program) {
  const auto echo = [](const std::vector<std::string>& words) {
    return "echo " + quoted_for_shell(joined(words));
  };
  std::string text = branch({"\"probe 2\"", "\"break 2\""}, echo(program.lessons_with_probe)) +
                     branch({"\"check 2\""}, echo(program.lessons_to_check)) +
                     branch({"\"worksheet 2\""}, echo(program.lessons_with_worksheet)) +
                     branch({"\"break 3\""}, "_attnlab_mistakes \"$3\"") +
                     branch({"\"train 2\""}, echo(program.tasks)) +
                     branch({"\"manual 2\""}, echo(program.topics)) +
                     branch({"\"completions 2\""}, echo(shells())) + branch({"\"--help 2\""}, "echo numbers");
  return text + branch({"\"diff 2\"", "\"diff 3\"", "\"check 3\""}, "echo FILE");
}

}  // namespace

std::string quoted_for_shell(const std::string& text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? "'\\''" : std::string(1, character);
  return result + "'";
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string words_of(const Choices& choices) {
  auto words = choices.words;
  if (choices.files) words.emplace_back("FILE");
  if (choices.folders) words.emplace_back("DIR");
  return joined(words);
}

std::string table_function(const std::string& function, const NamesByText& names_by_text) {
  auto text = fmt::format("{}() {{\n  case $1 in\n", function);
  const auto most = most_common(names_by_text);
  for (auto entry = names_by_text.begin(); entry != names_by_text.end(); ++entry)
    if (entry != most) text += branch(entry->second, "echo " + quoted_for_shell(entry->first));
  return text + branch({"*"}, "echo " + quoted_for_shell(most->first)) + "  esac\n}\n";
}

std::string value_functions(const CompletedProgram& program) {
  NamesByText mistakes;
  for (const auto& [lesson, ids] : program.mistakes) mistakes[joined(ids)].push_back(lesson);
  mistakes[joined(program.lessons_with_probe)].push_back("--list");
  return table_function("_attnlab_mistakes", mistakes) + "_attnlab_value() {\n  case \"$1 $2\" in\n" +
         branches_of_values(program) + "  esac\n}\n_attnlab_argument() {\n  case \"$1 $2\" in\n" +
         branches_of_arguments(program) + "  esac\n}\n";
}

}  // namespace lab

#include "lab/manual/help_of.hpp"

#include <algorithm>
#include <stdexcept>

#include "lab/arguments.hpp"
#include "lab/command_line.hpp"

namespace lab {

CommandHelp help_of(const std::vector<std::string>& words) {
  auto arguments = words;
  arguments.insert(arguments.begin(), "attnlab");
  arguments.emplace_back("--help");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  const auto command = parse(static_cast<int>(pointers.size()), pointers.data());
  const auto* print = std::get_if<PrintText>(&command);
  if (print == nullptr || !print->help) throw std::logic_error("[manual] " + words.front() + " has no help");
  return *print->help;
}

CommandHelp help_of_command_on_lessons(std::string_view command) {
  auto help = help_of({std::string(command), std::string(lessons_with_probe().front()->name)});
  std::erase_if(help.options, [](const OptionHelp& option) { return option.group == what_is_computed; });
  return help;
}

bool is_on_lessons(std::string_view command) {
  return command == "check" || command == "probe" || command == "break" || command == "worksheet";
}

std::vector<const lessons::Lesson*> lessons_with_probe() {
  std::vector<const lessons::Lesson*> result;
  for (const auto* lesson : lessons::all_lessons())
    if (lesson->probe) result.push_back(lesson);
  return result;
}

std::string title_of(const CommandHelp& help) {
  const auto start = help.description.find(": ") + 2;
  return help.description.substr(start, help.description.find('\n') - start);
}

std::string body_of(const CommandHelp& help) {
  const auto end = help.description.find("\n\n");
  return end == std::string::npos ? "" : help.description.substr(end + 2);
}

}  // namespace lab

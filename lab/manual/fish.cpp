#include <fmt/format.h>

#include "lab/manual/completions.hpp"
#include "lab/manual/manual.hpp"
#include "lab/manual/shell_tables.hpp"

namespace lab {

namespace {

const char* const fish_functions = R"(# attnlab completions fish
function __attnlab_is
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end
function __attnlab_about
    set -l words (commandline -opc)
    contains -- "$words[2]" check probe break worksheet
    and contains -- "$words[3]" $argv
    or contains -- "$words[2]" $argv
end
function __attnlab_at
    test (count (commandline -opc)) -eq $argv[1]
    and __attnlab_is $argv[2..]
end
complete -c attnlab -f
)";

std::string quoted_in_fish(const std::string& text) {
  std::string result = "'";
  for (const char character : text)
    result +=
        character == '\'' || character == '\\' ? fmt::format("\\{}", character) : std::string(1, character);
  return result + "'";
}

std::string line_in_fish(const std::string& condition, const std::string& rest) {
  return fmt::format("complete -c attnlab -n {} {}\n", quoted_in_fish(condition), rest);
}

/// "-s o -l output -r -F -d '…'"
std::string option_in_fish(const CompletedOption& option) {
  std::string text;
  for (const auto& name : option.names)
    text += name.starts_with("--") ? fmt::format("-l {} ", name.substr(2))
                                   : fmt::format("-s {} ", name.substr(1));
  const auto& choices = option.choices;
  if (choices.files)
    text += "-r -F ";
  else if (choices.folders)
    text += "-x -a '(__fish_complete_directories)' ";
  else if (choices.takes_value)
    text += "-x ";
  if (!choices.words.empty()) text += fmt::format("-a {} ", quoted_in_fish(joined(choices.words)));
  return text + "-d " + quoted_in_fish(option.summary);
}

void add_options(NamesByText& commands_by_option, const std::string& command,
                 const std::vector<CompletedOption>& options) {
  for (const auto& option : options) commands_by_option[option_in_fish(option)].push_back(command);
}

std::string lines_of_options(const char* condition, const NamesByText& commands_by_option) {
  std::string text;
  for (const auto& [option, commands] : commands_by_option)
    text += line_in_fish(fmt::format("{} {}", condition, joined(commands)), option);
  return text;
}

std::string arguments_in_fish(const CompletedProgram& program) {
  const auto words = [](const std::string& condition, const std::vector<std::string>& choices) {
    return line_in_fish(condition, "-a " + quoted_in_fish(joined(choices)));
  };
  auto text = words("__attnlab_at 2 probe break", program.lessons_with_probe) +
              words("__attnlab_at 2 check", program.lessons_to_check) +
              words("__attnlab_at 2 worksheet", program.lessons_with_worksheet) +
              words("__attnlab_at 2 train", program.tasks) + words("__attnlab_at 2 manual", program.topics) +
              words("__attnlab_at 2 completions", shells()) + words("__attnlab_at 2 --help", {"numbers"});
  for (const auto& [lesson, mistakes] : program.mistakes)
    text += words(fmt::format("__attnlab_at 3 break; and __attnlab_about {}", lesson), mistakes);
  return text + words("__attnlab_at 3 break; and __attnlab_about --list", program.lessons_with_probe) +
         line_in_fish("__attnlab_is diff; or __attnlab_at 3 check", "-F");
}

}  // namespace

std::string fish_completions(const CompletedProgram& program) {
  std::string text = fish_functions;
  NamesByText own, of_lesson;
  for (const auto& command : program.commands) {
    text += line_in_fish("test (count (commandline -opc)) -eq 1",
                         fmt::format("-a {} -d {}", command.name, quoted_in_fish(command.summary)));
    add_options(own, command.name, command.own);
    add_options(of_lesson, command.name, command.of_lesson);
  }
  return text + line_in_fish("test (count (commandline -opc)) -eq 1", "-l help -l version") +
         lines_of_options("__attnlab_is", own) + lines_of_options("__attnlab_about", of_lesson) +
         arguments_in_fish(program);
}

}  // namespace lab

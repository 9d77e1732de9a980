#include "lab/manual/completions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "attn/error.hpp"
#include "lab/check/check.hpp"
#include "lab/command_line.hpp"
#include "lab/manual/help_of.hpp"
#include "lab/manual/manual.hpp"
#include "lab/option_values.hpp"

namespace lab {

namespace {

using Words = std::vector<std::string>;

const std::map<std::string, const char*> scripts = {{"bash", R"sh(# attnlab completions bash
_attnlab() {
  local typed=() word choice
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do [[ $word == "=" ]] || typed+=("$word"); done
  [[ ${COMP_WORDS[COMP_CWORD]} != "=" ]] || typed+=("")
  word=${typed[${#typed[@]} - 1]}
  COMPREPLY=()
  while IFS=$'\t' read -r choice _; do
    case $choice in
      FILE | DIR)
        compopt -o filenames 2>/dev/null
        [[ $choice == FILE ]] && choice=-f || choice=-d
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen $choice -- "$word")
        ;;
      *) COMPREPLY+=("$choice") ;;
    esac
  done < <(command "${COMP_WORDS[0]}" completions --for "${typed[@]}" 2>/dev/null)
}
complete -F _attnlab attnlab
)sh"},
                                                    {"zsh", R"sh(#compdef attnlab
# attnlab completions zsh
_attnlab() {
  local -a choices
  choices=("${(@f)$(command $words[1] completions --for "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  [[ $PREFIX == --*=* ]] && compset -P '*='
  (( ${choices[(I)FILE]} )) && _files
  (( ${choices[(I)DIR]} )) && _files -/
  choices=("${(@)${(@)choices:#(FILE|DIR|)}/$'\t'/:}")
  local -a as=(${${(M)PREFIX:#-*}:+-o})
  (( $#choices )) && _describe $as attnlab choices
  return 0
}
if [[ $funcstack[1] == _attnlab ]]; then
  _attnlab "$@"
else
  compdef _attnlab attnlab
fi
)sh"},
                                                    {"fish", R"sh(# attnlab completions fish
function __attnlab_choices
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for choice in (command $words[1] completions --for $words[2..] "$typed" 2>/dev/null)
        switch $choice
            case FILE
                __fish_complete_path "$typed"
            case DIR
                __fish_complete_directories "$typed"
            case '*'
                printf '%s\n' $choice
        end
    end
end
complete -c attnlab -f -a '(__attnlab_choices)'
)sh"}};

using Lesson = lessons::Lesson;

Words names_of_lessons(const std::function<bool(const Lesson&)>& is_one) {
  Words names;
  for (const auto* lesson : lessons::all_lessons())
    if (is_one(*lesson)) names.emplace_back(lesson->name);
  return names;
}

Words lessons_for(const std::string& command) {
  const auto has_probe = [](const Lesson& lesson) { return lesson.probe.has_value(); };
  const auto has_worksheet = [](const Lesson& lesson) { return lesson.worksheet.has_value(); };
  return names_of_lessons([&](const Lesson& lesson) {
    if (command == "worksheet") return has_worksheet(lesson);
    return has_probe(lesson) || (command == "check" && has_worksheet(lesson));
  });
}

Words commands() {
  Words lines;
  for (const auto* lesson : lessons::all_lessons())
    lines.push_back(fmt::format("{}\t{}", lesson->name, lesson->title));
  for (const auto& line : command_lines()) lines.push_back(fmt::format("{}\t{}", line.name, line.summary));
  lines.insert(lines.end(), {"--help\twhat there is", "--version\tthe version"});
  return lines;
}

/// What may be the argument at that place after `attnlab`, which the command has as 1.
Words arguments_at(std::size_t place, const Words& words) {
  const auto& command = words[0];
  if (command == "diff" || (command == "check" && place == 3)) return {"FILE"};
  if (place == 3 && command == "break") {
    for (const auto* lesson : lessons_with_probe())
      if (lesson->name == words[1]) return mistakes_of_probe(*lesson);
    return words[1] == "--list" ? lessons_for(command) : Words();
  }
  if (place != 2) return {};
  if (is_on_lessons(command)) return lessons_for(command);
  if (command == "manual") return manual_topics();
  if (command == "completions") return shells();
  if (command == "--help") return {"numbers"};
  if (command != "train") return {};
  Words tasks;
  for (const auto& task : attn::train::tasks()) tasks.push_back(task.name);
  return tasks;
}

std::vector<OptionHelp> options_of(const Words& words) try {
  const auto& command = words[0];
  const bool has_lesson = words.size() > 2 && !words[1].starts_with('-');
  if (is_on_lessons(command) && has_lesson) return help_of({command, words[1]}).options;
  auto options =
      is_on_lessons(command) ? help_of_command_on_lessons(command).options : help_of({command}).options;
  if (command == "break") options.push_back({{"--list"}, "", "name the mistakes", ""});
  return options;
} catch (const std::exception&) {  // of a command without options, or none at all
  return {{{"--help", "-h"}, "", "this page", ""}};
}

/// What "strided|fixed|random|FILE" lets follow the option.
Words words_of_values(const OptionHelp& option, const Words& words) {
  Words values;
  for (const auto& part : split(option.value, '|')) {
    const bool is_placeholder = part.empty() || (part.front() >= 'A' && part.front() <= 'Z');
    if (part == "LESSON") values = names_of_lessons([](const Lesson&) { return true; });
    if (!is_placeholder || part == "FILE" || part == "DIR") values.push_back(part);
  }
  for (const auto* lesson : lessons::all_lessons())
    if (option.names.front() == "--model" && lesson->trained &&
        std::find(words.begin(), words.end(), lesson->name) != words.end())
      values.emplace_back(lesson->trained->default_model());
  return values;
}

/// The text up to its first ; or : on one line.
std::string summary_of(const std::string& text) {
  auto summary = text.substr(0, text.find_first_of(";:"));
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  return summary;
}

Words choices_after(const Words& words) {
  if (words.size() == 1) return commands();
  const auto options = options_of(words);
  const auto& before = words[words.size() - 2];
  for (const auto& option : options)
    if (!option.value.empty() &&
        std::find(option.names.begin(), option.names.end(), before) != option.names.end())
      return words_of_values(option, words);
  if (!words.back().starts_with('-'))
    if (auto arguments = arguments_at(words.size(), words); !arguments.empty()) return arguments;
  Words lines;
  for (const auto& option : options)
    for (const auto& name : option.names)
      if (name.starts_with('-')) lines.push_back(fmt::format("{}\t{}", name, summary_of(option.text)));
  return lines;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names = {"bash", "zsh", "fish"};
  return names;
}

std::string completions(const std::string& shell) {
  return scripts.at(shell);
}

std::string choices_for(const std::vector<std::string>& words) {
  auto typed = words;
  if (const auto equals = typed.back().find('=');
      typed.back().starts_with("--") && equals != std::string::npos) {
    typed.push_back(typed.back().substr(equals + 1));
    typed[typed.size() - 2].resize(equals);
  }
  std::string text;
  for (const auto& line : choices_after(typed))
    if (line == "FILE" || line == "DIR" || line.starts_with(typed.back())) text += line + '\n';
  return text;
}

}  // namespace lab

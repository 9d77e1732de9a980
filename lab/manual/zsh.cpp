#include "lab/manual/completions.hpp"
#include "lab/manual/shell_tables.hpp"

namespace lab {

namespace {

const char* const zsh_function = R"sh(_attnlab() {
  local before=$words[CURRENT-1] command=$words[2] lesson= owner=$words[2] own choices=
  local -a described others
  if [[ $PREFIX == --*=* ]]; then
    before=${PREFIX%%=*}
    compset -P '*='
  fi
  case $command in check | probe | break | worksheet) lesson=$words[3] ;; esac
  own=$(_attnlab_own "$command")
  [[ -z $lesson || $'\n'$own == *$'\n'$before:* ]] || owner=$lesson
  if ((CURRENT == 2)); then
    described=("${(@f)_attnlab_commands}")
    _describe command described
    return
  fi
  if [[ $before != -* ]] || ! choices=$(_attnlab_value "$owner" "$before"); then
    choices=
    [[ $PREFIX == -* ]] || choices=$(_attnlab_argument "$command" $((CURRENT - 1)) "$lesson")
    if [[ -z $choices ]]; then
      described=("${(@f)own}" "${(@f)$(_attnlab_of_lesson "${lesson:-$command}")}")
      _describe -o option described
      return
    fi
  fi
  others=(${${=choices}:#(FILE|DIR)})
  compadd -a others
  [[ " $choices " == *" FILE "* ]] && _files
  [[ " $choices " == *" DIR "* ]] && _files -/
  return 0
}
if [[ $funcstack[1] == _attnlab ]]; then
  _attnlab "$@"
else
  compdef _attnlab attnlab
fi
)sh";

std::string described_in_zsh(const std::vector<CompletedOption>& options) {
  std::vector<std::string> lines;
  for (const auto& option : options)
    for (const auto& name : option.names) lines.push_back(name + ":" + option.summary);
  return joined(lines, "\n");
}

}  // namespace

std::string zsh_completions(const CompletedProgram& program) {
  std::vector<std::string> commands;
  NamesByText own, of_lesson;
  for (const auto& command : program.commands) {
    commands.push_back(command.name + ":" + command.summary);
    own[described_in_zsh(command.own)].push_back(command.name);
    of_lesson[described_in_zsh(command.of_lesson)].push_back(command.name);
  }
  commands.insert(commands.end(), {"--help:what there is", "--version:the version"});
  return "#compdef attnlab\n# attnlab completions zsh\n_attnlab_commands=" +
         quoted_for_shell(joined(commands, "\n")) + "\n" + table_function("_attnlab_own", own) +
         table_function("_attnlab_of_lesson", of_lesson) + value_functions(program) + zsh_function;
}

}  // namespace lab

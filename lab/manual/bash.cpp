#include "lab/manual/completions.hpp"
#include "lab/manual/shell_tables.hpp"

namespace lab {

namespace {

const char* const bash_function = R"sh(_attnlab_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$1" -- "$2")
}
_attnlab() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $word == "=" ]]; then
    word=
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  local command=${COMP_WORDS[1]} lesson= owner=${COMP_WORDS[1]} own choices= choice
  case $command in check | probe | break | worksheet) lesson=${COMP_WORDS[2]} ;; esac
  own=$(_attnlab_own "$command")
  [[ -z $lesson || " $own " == *" $before "* ]] || owner=$lesson
  if ((COMP_CWORD == 1)); then
    choices=$_attnlab_commands
  elif [[ $before != -* ]] || ! choices=$(_attnlab_value "$owner" "$before"); then
    choices=
    [[ $word == -* ]] || choices=$(_attnlab_argument "$command" "$COMP_CWORD" "$lesson")
    [[ -n $choices ]] || choices="$own $(_attnlab_of_lesson "${lesson:-$command}")"
  fi
  COMPREPLY=()
  for choice in $choices; do
    case $choice in
      FILE) _attnlab_paths -f "$word" ;;
      DIR) _attnlab_paths -d "$word" ;;
      "$word"*) COMPREPLY+=("$choice") ;;
    esac
  done
}
complete -F _attnlab attnlab
)sh";

std::string names_in_bash(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const auto& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return joined(names);
}

}  // namespace

std::string bash_completions(const CompletedProgram& program) {
  std::vector<std::string> commands;
  NamesByText own, of_lesson;
  for (const auto& command : program.commands) {
    commands.push_back(command.name);
    own[names_in_bash(command.own)].push_back(command.name);
    of_lesson[names_in_bash(command.of_lesson)].push_back(command.name);
  }
  commands.insert(commands.end(), {"--help", "--version"});
  return "# attnlab completions bash\n_attnlab_commands=" + quoted_for_shell(joined(commands)) + "\n" +
         table_function("_attnlab_own", own) + table_function("_attnlab_of_lesson", of_lesson) +
         value_functions(program) + bash_function;
}

}  // namespace lab

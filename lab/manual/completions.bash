# attnlab completions bash
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

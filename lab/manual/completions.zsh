#compdef attnlab
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

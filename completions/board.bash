# Completion of board for bash. It asks the program; nothing of its answer is ever evaluated.
_board() {
  local -a words=()
  local word line inline value about joining=''
  # Bash splits words at = and :, the program does not.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ( -n $joining || $word == [=:]* ) ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == *[=:] ]]; then joining=yes; else joining=''; fi
  done
  word=''
  [[ ${#words[@]} -gt 0 ]] && word=${words[${#words[@]} - 1]}
  inline=''
  [[ $word == --*=* && $COMP_WORDBREAKS == *=* ]] && inline=${word%%=*}=

  local -a values=() shown=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default 2>/dev/null ;;
      :folders) compopt -o dirnames 2>/dev/null ;;
      *)
        value=${line%%$'\t'*}
        value=${value#"$inline"}
        about=${line#*$'\t'}
        values+=("$value")
        if [[ $about == "$line" ]]; then shown+=("$value"); else shown+=("$value  ($about)"); fi
        ;;
    esac
  done < <(command board __complete -- "${words[@]}" 2>/dev/null)

  # 63 is the list that a second TAB shows: it is only shown, so there the descriptions may stand.
  if [[ ${COMP_TYPE:-} == 63 && ${#values[@]} -gt 1 ]]; then COMPREPLY=("${shown[@]}"); else COMPREPLY=("${values[@]}"); fi
}
complete -F _board board

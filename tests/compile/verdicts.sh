# shellcheck shell=bash disable=SC2154 # $scratch, $warnings
# Sourced by tests of what compilers refuse and what they allow. `refused` and `accepted` collect cases, and
# `judge` compiles all that have the same options as one file, because the headers take most of the time:
# case N is in a namespace of its own; what has to be refused, behind #line 1 "case-N", so that each message names
# its case. $scratch is a directory of the test's own, $prelude what all files begin with, $warnings the options
# of all. `body` prints a case.

cases=0 compiled=0

refused() { # <what> <words in its error, an extended regular expression> <argument of body>... [-option]...
  collect refused "$@"
}

accepted() { # <what> <argument of body>... [-option]...
  collect accepted "$1" '' "${@:2}"
}

collect() { # <verdict> <what> <words> <argument of body>... [-option]...
  local arguments=("${@:4}") options=() file
  while [[ ${arguments[-1]} == -[fD]* ]]; do
    options=("${arguments[-1]}" "${options[@]}")
    unset 'arguments[-1]'
  done
  file=$scratch/$1${options[*]// /}
  if [[ ! -e $file.cpp ]]; then
    echo "$prelude" > "$file.cpp"
    printf '%s\n' "${options[@]}" > "$file.options"
  fi
  cases=$((cases + 1))
  printf '%s\t%s\t%s\n' "$cases" "$2" "$3" >> "$file.cases"
  {
    if [[ $1 == refused ]]; then echo "#line 1 \"case-$cases\""; fi # gcc takes what is behind one for a header
    echo "namespace case_$cases { // $2"
    body "${arguments[@]}"
    echo '}'
  } >> "$file.cpp"
}

# Compile what was collected for a verdict: with the compiler, or, of cases that have options, with the other.
judge() { # <verdict> <compiler> <standard> <which: plain, options, or all>
  local file limit=-fmax-errors=0
  if [[ $2 == clang* ]]; then limit=-ferror-limit=0; fi
  for file in "$scratch/$1"*.cpp; do
    case $4:${file%.cpp} in
      plain:"$scratch/$1" | options:"$scratch/$1"-* | all:*) ;;
      *) continue ;;
    esac
    mapfile -t options < <(grep . "${file%.cpp}.options")
    compiled=$((compiled + 1))
    if [[ $1 == accepted ]]; then
      LC_ALL=C "$2" "-std=$3" "${warnings[@]}" "${options[@]}" -Iinclude -c -o "$scratch/object.o" "$file" ||
        { printf '%s does not compile some of:\n%s\n' "$2 ${options[*]}" "$(< "${file%.cpp}.cases")" >&2 && exit 1; }
    else
      LC_ALL=C "$2" "-std=$3" "${warnings[@]}" "${options[@]}" "$limit" -Iinclude -fsyntax-only "$file" \
        2> "$scratch/messages" && { echo "$2 ${options[*]} compiles $file" >&2 && exit 1; }
      python3 -B tests/compile/verdicts.py "$2 ${options[*]}" "${file%.cpp}.cases" "$scratch/messages" || exit 1
    fi
  done
}

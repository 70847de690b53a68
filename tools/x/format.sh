# shellcheck shell=bash
## format [--check]       clang-format every C and C++ file; --check: only say what would change
cmd_format() {
  at_most 1 "$@"
  [[ ${1:---check} == --check ]] || wrong "not an option of format: $1"
  need clang-format
  local how=-i
  if [[ ${1:-} == --check ]]; then how='--dry-run -Werror'; fi
  # shellcheck disable=SC2086 # $how is one or two words
  find include src tests apps examples bench tools -name '*.[ch]' -print0 -o -name '*.[ch]pp' -print0 |
    xargs -0 clang-format $how
}

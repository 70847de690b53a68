# shellcheck shell=bash
# Sourced by tests of what a program says. It forks nothing: such a test looks hundreds of times.

# Whether lines of the array `said` match these extended regular expressions, in this order; if not, missed is the
# first that none matches.
said_in_order() { # <extended regular expression>...
  local at=0 pattern
  for pattern in "$@"; do
    missed=$pattern
    until [[ $at -lt ${#said[@]} && ${said[at]} =~ $pattern ]]; do
      ((at < ${#said[@]})) || return 1
      at=$((at + 1))
    done
    at=$((at + 1))
  done
}

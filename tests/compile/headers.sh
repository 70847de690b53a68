#!/usr/bin/env bash
# Every public header compiles alone, as C11 and as C++17, under every compiler there is, with all
# warnings as errors; so each type is as small as is said beside it.
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -t warnings < tests/compile/warnings.txt # what a parent project may compile with
compiled=0

alone() { # <compiler> <language> <standard> <header>
  printf '#include <%s>\n#include <%s>\nint volt_header_test(void);\n' "$4" "$4" |
    "$1" -x "$2" -std="$3" "${warnings[@]}" -Iinclude -fsyntax-only - ||
    { echo "$4 does not compile alone with $1 -std=$3" >&2; exit 1; }
  compiled=$((compiled + 1))
}

for header in include/volt/*.h include/volt/detail/*.h; do
  header=${header#include/}
  for cc in gcc clang; do
    if command -v "$cc" > /dev/null; then alone "$cc" c c11 "$header"; fi
  done
  for cxx in g++ clang++; do
    if command -v "$cxx" > /dev/null; then alone "$cxx" c++ c++17 "$header"; fi
  done
done

echo "$compiled compilations"
((compiled > 0)) || exit 77

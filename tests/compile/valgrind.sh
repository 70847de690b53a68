#!/usr/bin/env bash
# Compiled with VOLT_VALGRIND, what volt protects is no race to Helgrind and DRD, and what it does not
# protect is one.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/objects.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! command -v valgrind > /dev/null ||
  ! echo '#include <valgrind/helgrind.h>' | "${CC:-cc}" -fsyntax-only -x c - 2> /dev/null; then
  echo "skipped: there is no valgrind (./x test installs it)"
  exit 77
fi

valgrind_objects
options=(-g -O1 -Wall -Wextra -Werror -DVOLT_VALGRIND -Iinclude)
check() { # <language> <races> <compiler and what it compiles>...
  local tool code others
  "${@:3}" "${options[@]}" "$objects"/*.o -pthread -o "$scratch/program"
  for tool in helgrind drd; do
    valgrind --tool="$tool" --error-exitcode=99 "$scratch/program" 2> "$scratch/log" && code=0 || code=$?
    if ((code != $2 * 99)); then
      cat "$scratch/log" >&2
      echo "$tool: exit code $code, with $2 races in $1" >&2
      exit 1
    fi
    # and what it reports is that variable, nothing else
    others=$(awk '/ (Possible data race|Conflicting) / { look = 1 }
      /==    at 0x/ && look { look = 0; if (!/\((tests\/compile\/)?valgrind(_cxx)?\.c(pp)?:/) print }' "$scratch/log")
    [[ -z $others ]] || { printf '%s\n' "$tool reports more:" "$others" >&2; exit 1; }
    echo "$tool: $2 races in $1"
  done
}
check C 0 "${CC:-cc}" -std=c11 tests/compile/valgrind.c
check C 1 "${CC:-cc}" -std=c11 -DRACE tests/compile/valgrind.c
if command -v "${CXX:-c++}" > /dev/null; then
  check C++ 0 "${CXX:-c++}" -std=c++17 tests/compile/valgrind_cxx.cpp
  check C++ 1 "${CXX:-c++}" -std=c++17 -DRACE tests/compile/valgrind_cxx.cpp
fi

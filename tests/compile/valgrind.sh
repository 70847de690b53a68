#!/usr/bin/env bash
# Compiled with VOLT_VALGRIND, what volt protects is no race to Helgrind and DRD, and what it does not
# protect is one.
set -euo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! command -v valgrind > /dev/null ||
  ! echo '#include <valgrind/helgrind.h>' | "${CC:-cc}" -fsyntax-only -x c - 2> /dev/null; then
  echo "skipped: there is no valgrind"
  exit 77
fi

options=(-std=c11 -g -O1 -Wall -Wextra -Werror -DVOLT_VALGRIND -Iinclude)
for source in src/{core,sync,bcs,async,rt}/*.c; do
  "${CC:-cc}" "${options[@]}" -c "$source" -o "$scratch/$(basename "$source").o"
done
for race in 0 1; do
  if ((race)); then options+=(-DRACE); fi
  "${CC:-cc}" "${options[@]}" tests/compile/valgrind.c "$scratch"/*.o -pthread -o "$scratch/program"
  for tool in helgrind drd; do
    valgrind --tool="$tool" --error-exitcode=99 "$scratch/program" 2> "$scratch/log" && code=0 || code=$?
    if ((code != race * 99)); then
      cat "$scratch/log" >&2
      echo "$tool: exit code $code, with $race races" >&2
      exit 1
    fi
    # and what it reports is that variable, nothing else
    others=$(awk '/ (Possible data race|Conflicting) / { look = 1 }
      /==    at 0x/ && look { look = 0; if (!/\(valgrind\.c:/) print }' "$scratch/log")
    [[ -z $others ]] || { printf '%s\n' "$tool reports more:" "$others" >&2; exit 1; }
    echo "$tool: $race races"
  done
done

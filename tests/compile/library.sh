#!/usr/bin/env bash
# The libraries build without CMake, cleanly under every compiler there is, and a C and a C++ program
# that use its inline fast paths link with it and run: unoptimised (the calls go to the library's
# own copies of the inline functions) and optimised, whatever the library is. Without liburing,
# libvolt-io is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t warnings < tests/compile/warnings.txt # what a parent project may compile with
c_only=(-Wstrict-prototypes -Wmissing-prototypes)
program=tests/compile/program.c
program_includes=(-Itests/support "-I$scratch")
tests/compile/family.sh --lines > "$scratch/family_lines.h"
sources=(src/{core,sync,bcs,async,rt}/*.c) io_libraries=()
if echo '#include <liburing.h>' | cc -E -x c - &> /dev/null; then
  sources+=(src/io/*.c) io_libraries=(-luring)
fi
ran=0

run() {
  "$scratch/program"
  ran=$((ran + 1))
}

if command -v cc > /dev/null; then # to the letter as the README says
  cc -std=c11 -Iinclude "${program_includes[@]}" src/{core,sync,bcs,async,rt}/*.c "$program" -pthread \
    -o "$scratch/program"
  run
  if ((${#io_libraries[@]})); then
    cc -std=c11 -Iinclude "${program_includes[@]}" src/*/*.c "$program" -pthread -luring -o "$scratch/program"
    run
  fi
fi

for pair in gcc:g++ clang:clang++; do
  cc=${pair%:*} cxx=${pair#*:}
  command -v "$cc" > /dev/null || continue
  for flags in -O2 '-O1 -DVOLT_DEBUG=1'; do
    rm -rf "$scratch/objects"
    mkdir "$scratch/objects"
    for source in "${sources[@]}"; do
      # shellcheck disable=SC2086 # $flags are several words
      "$cc" -std=c11 $flags "${warnings[@]}" "${c_only[@]}" -Iinclude -c "$source" \
        -o "$scratch/objects/$(basename "$source").o"
    done
    levels=(-O0 -O2) # of the program
    [[ $flags == -O2 ]] || levels=(-O1)
    for level in "${levels[@]}"; do
      # shellcheck disable=SC2206 # the last of two levels counts
      options=($flags $level "${warnings[@]}" -Iinclude "${program_includes[@]}")
      "$cc" -std=c11 "${options[@]}" "$program" "$scratch"/objects/*.o -pthread \
        "${io_libraries[@]}" -o "$scratch/program"
      run
      command -v "$cxx" > /dev/null || continue
      "$cxx" -std=c++17 "${options[@]}" -x c++ "$program" -x none "$scratch"/objects/*.o -pthread \
        "${io_libraries[@]}" -o "$scratch/program"
      run
    done
  done
done

echo "$ran programs"
((ran > 0)) || exit 77

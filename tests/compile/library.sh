#!/usr/bin/env bash
# The libraries build without CMake, cleanly under every compiler there is, and a C and a C++ program
# that use its inline fast paths link with it and run: unoptimised (the calls go to the library's
# own copies of the inline functions) and optimised, whatever the library is: gcc optimises it, clang
# does not, because platforms.sh runs what it optimises. Without liburing libvolt-io is left out, and
# without ZooKeeper's client libvolt-cluster, and without OpenSSL libvolt-tls. In the quick form clang looks at the library without making
# code, and its programs are linked with what gcc has made: fiber_tools.sh runs what clang makes. The command
# of the README is only in the long form: the same files are compiled and linked below, with more warnings. And
# libvolt-io, libvolt-cluster and libvolt-tls are optimised a room at a time, where clang has looked at each file alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh
. tests/compile/objects.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t warnings < tests/compile/warnings.txt # what a parent project may compile with
c_only=(-Wstrict-prototypes -Wmissing-prototypes)
program=tests/compile/program.c
program_includes=(-Itests/support "-I$scratch")
tests/compile/family.sh --lines > "$scratch/family_lines.h"
sources=(src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c) beside=() io_libraries=()
if echo '#include <liburing.h>' | cc -E -x c - &> /dev/null; then
  sources+=(src/io/*/*.c) beside=(io) io_libraries=(-luring)
  if echo '#include <zookeeper/zookeeper.h>' | cc -E -x c - &> /dev/null; then
    sources+=(src/cluster/*/*.c) beside+=(cluster) io_libraries+=(-lzookeeper_st)
  fi
  if echo '#include <openssl/ssl.h>' | cc -E -x c - &> /dev/null; then
    sources+=(src/tls/*/*.c) beside+=(tls) io_libraries+=(-lssl -lcrypto)
  fi
fi
ran=0

run() {
  "$scratch/program"
  ran=$((ran + 1))
}

if whole && command -v cc > /dev/null; then # to the letter as the README says
  rooms=(src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c) with=()
  if ((${#io_libraries[@]})); then rooms+=(src/io/*/*.c) with=(-luring); fi
  cc -std=c11 -Iinclude "${program_includes[@]}" "${rooms[@]}" "$program" -pthread "${with[@]}" -o "$scratch/program"
  run
fi

# All sources in one process, which is what the driver would start for each of them.
looks_at_all() { # <clang and its options>... -- <source>...
  local command=() line
  while [[ $1 != -- ]]; do command+=("$1"); shift; done
  shift
  line=$("${command[@]}" -fsyntax-only -### "$1" 2>&1 | grep -- '"-cc1".*"-fsyntax-only"') ||
    { echo "${command[0]} does not say how it compiles" >&2; exit 1; }
  eval "command=($line)"
  unset 'command[-1]'
  "${command[@]}" "$@"
}

for pair in gcc:g++ clang:clang++; do
  cc=${pair%:*} cxx=${pair#*:}
  command -v "$cc" > /dev/null || continue
  kinds=(-O2)
  [[ $cc == gcc ]] || kinds=('-O0 -DVOLT_DEBUG=1') # gcc compiles that in the dev build
  for flags in "${kinds[@]}"; do
    if [[ $cc == clang && -d $scratch/objects ]] && ! whole; then
      # shellcheck disable=SC2086 # $flags are several words
      looks_at_all "$cc" -std=c11 $flags "${warnings[@]}" "${c_only[@]}" -Iinclude -- "${sources[@]}"
      flags=-O0 # as the objects, without VOLT_DEBUG
    elif [[ $cc == gcc ]]; then
      release_objects
      mkdir "$scratch/objects"
      cp "$objects"/*.o "$scratch/objects"
    else
      rm -rf "$scratch/objects"
      mkdir "$scratch/objects"
    fi
    alone=("${sources[@]}")
    if [[ $cc == clang && -e $scratch/objects/io.o ]]; then alone=(); fi # all of them are there
    if [[ $cc == gcc ]] && command -v clang > /dev/null && ! whole; then
      alone=()
      for room in "${beside[@]}"; do
        sources_of_room "$room" | "$cc" -std=c11 -O2 "${warnings[@]}" "${c_only[@]}" -Iinclude -D_GNU_SOURCE \
          -x c -c - -o "$scratch/objects/$room.o"
      done
    fi
    for source in "${alone[@]}"; do
      object=$scratch/objects/${source##*/}.o
      # shellcheck disable=SC2086
      [[ -e $object ]] ||
        "$cc" -std=c11 $flags "${warnings[@]}" "${c_only[@]}" -Iinclude -c "$source" -o "$object"
    done
    without_io=()
    for source in src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c; do
      without_io+=("$scratch/objects/$(basename "$source").o")
    done
    # shellcheck disable=SC2086 # the library is compiled with these
    "$cc" -std=c11 $flags -O0 -Iinclude "${program_includes[@]}" "$program" "${without_io[@]}" -pthread -o "$scratch/program"
    run
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

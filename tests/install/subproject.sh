#!/usr/bin/env bash
# volt as a part of somebody else's build (add_subdirectory, FetchContent): the same targets, no
# tests, no C++, nothing installed with their program. They may ask for CMAKE_UNITY_BUILD.
set -euo pipefail
cd "$(dirname "$0")"
source=$(realpath ../..)
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() {
  "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

step "$cmake" -S consumer -B "$scratch/build" -DVOLT_SOURCE_DIR="$source" -DCMAKE_UNITY_BUILD=ON
step "$cmake" --build "$scratch/build"
"$scratch/build/consumer_shared"
"$scratch/build/consumer_static"
"$scratch/build/tasks_shared"
"$scratch/build/tasks_static"
if [[ -e $scratch/build/pipe_shared ]]; then
  "$scratch/build/pipe_shared"
  "$scratch/build/pipe_static"
fi
step "$cmake" --install "$scratch/build" --prefix "$scratch/prefix"
installed=$(find "$scratch/prefix" -type f 2> /dev/null || true)
[[ -z $installed ]] || { printf 'installed with it:\n%s\n' "$installed" >&2; exit 1; }

#!/usr/bin/env bash
# The preset of the library alone asks for a C compiler and nothing else but liburing, without which it
# leaves libvolt-io out; and not even that with VOLT_IO=OFF. It builds, and installs what a user needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() {
  "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

asks_for() { # <build directory> <words>: what was looked for
  grep -iE "^(CMAKE_CXX_COMPILER|VOLT_PYTHON3|$2|[a-z_]*(cmocka|relacy|openssl)[a-z_]*):" "$1/CMakeCache.txt"
}

step "$cmake" --preset lib -B "$scratch/build"
! asks_for "$scratch/build" none >&2 || { echo 'was looked for' >&2; exit 1; }
step "$cmake" --preset lib -B "$scratch/without" -DVOLT_IO=OFF -DCMAKE_C_FLAGS_RELEASE=-O0
uring='PKG_CONFIG_EXECUTABLE|[a-z_]*uring[a-z_]*'
! asks_for "$scratch/without" "$uring" >&2 || { echo 'was looked for with VOLT_IO=OFF' >&2; exit 1; }
asks_for "$scratch/build" "$uring" > /dev/null || { echo 'the check sees nothing' >&2; exit 1; }
step "$cmake" --build "$scratch/without"
step "$cmake" --install "$scratch/without" --prefix "$scratch/prefix-without"
found=$(find "$scratch/prefix-without" -name '*volt-io*')
[[ -z $found ]] || { printf 'installed with VOLT_IO=OFF:\n%s\n' "$found" >&2; exit 1; }
step "$cmake" --build "$scratch/build"
step "$cmake" --install "$scratch/build" --prefix "$scratch/prefix"
for file in libvolt-sync.so libvolt-sync.a libvolt-rt.so libvolt-rt.a volt/volt.h volt-config.cmake \
  volt-rt.pc; do
  [[ -n $(find "$scratch/prefix" -path "*/$file") ]] || { echo "$file was not installed" >&2; exit 1; }
done
echo "the library alone: $(find "$scratch/prefix" -type f | wc -l) files"

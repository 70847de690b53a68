#!/usr/bin/env bash
# The preset of the library alone asks for a C compiler and nothing else, builds, and installs what a
# user needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() {
  "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

step "$cmake" --preset lib -B "$scratch/build"
asked=$(grep -iE '^(CMAKE_CXX_COMPILER|PKG_CONFIG_EXECUTABLE|VOLT_PYTHON3|[a-z_]*(cmocka|relacy|openssl|uring)[a-z_]*):' \
  "$scratch/build/CMakeCache.txt" || true)
[[ -z $asked ]] || { printf 'looked for:\n%s\n' "$asked" >&2; exit 1; }
step "$cmake" --build "$scratch/build"
step "$cmake" --install "$scratch/build" --prefix "$scratch/prefix"
for file in libvolt-sync.so libvolt-sync.a libvolt-rt.so libvolt-rt.a volt/volt.h volt-config.cmake \
  volt-rt.pc; do
  [[ -n $(find "$scratch/prefix" -path "*/$file") ]] || { echo "$file was not installed" >&2; exit 1; }
done
echo "the library alone: $(find "$scratch/prefix" -type f | wc -l) files"

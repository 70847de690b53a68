#!/usr/bin/env bash
# usage: lib.sh [DIRECTORY]: where it builds, anew; gate.sh may go on there.
# The preset of the library alone asks for a C compiler and nothing else but liburing, ZooKeeper's
# client and OpenSSL, without which it leaves libvolt-io, libvolt-cluster and libvolt-tls out; and not even those with VOLT_IO=OFF.
# It builds, and installs what a user needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build=${1:-$scratch/build}
rm -rf "$build"

step() {
  "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

asks_for() { # <words>: what was looked for
  grep -iE "^(CMAKE_CXX_COMPILER|VOLT_PYTHON3|$1|[a-z_]*(cmocka|relacy|openssl_)[a-z_]*):" "$build/CMakeCache.txt"
}

configure() { # <option>...
  step "$cmake" --preset lib -B "$build" -DCMAKE_C_FLAGS_RELEASE=-O0 -DVOLT_UNITY=ON "$@" # as quickly as it goes
}

uring='PKG_CONFIG_EXECUTABLE|[a-z_]*(uring|zookeeper|openssl3)[a-z_]*'
configure -DVOLT_IO=OFF
! asks_for "$uring" >&2 || { echo 'was looked for with VOLT_IO=OFF' >&2; exit 1; }
step "$cmake" --build "$build"
step "$cmake" --install "$build" --prefix "$scratch/prefix-without"
found=$(find "$scratch/prefix-without" -name '*volt-io*')
[[ -z $found ]] || { printf 'installed with VOLT_IO=OFF:\n%s\n' "$found" >&2; exit 1; }
configure -UVOLT_IO -UVOLT_CLUSTER -UVOLT_TLS # what was compiled is not compiled again
! asks_for none >&2 || { echo 'was looked for' >&2; exit 1; }
asks_for "$uring" > /dev/null || { echo 'the check sees nothing' >&2; exit 1; }
step "$cmake" --build "$build"
step "$cmake" --install "$build" --prefix "$scratch/prefix"
for file in libvolt-sync.so libvolt-sync.a libvolt-rt.so libvolt-rt.a volt/volt.h volt-config.cmake \
  volt-rt.pc; do
  [[ -n $(find "$scratch/prefix" -path "*/$file") ]] || { echo "$file was not installed" >&2; exit 1; }
done
echo "the library alone: $(find "$scratch/prefix" -type f | wc -l) files"

#!/usr/bin/env bash
# usage: sight.sh [DIRECTORY]: where lib.sh has built them as they are shipped, which is not done again.
# Installs the libraries three times in one place, as they are shipped, with VOLT_SIGHT=ON and with
# VOLT_DEBUG=ON, and uses each, by find_package and by pkg-config. A program and a library of different
# builds do not link, and do not run together; the linker and the dynamic linker say so.
set -euo pipefail
built=
if [[ -n ${1:-} && -e $1/libvolt-rt.so ]]; then built=$(realpath "$1"); fi
cd "$(dirname "$0")"
source=$(realpath ../..)
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi
cc=${CC:-cc}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

step() {
  "$@" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
}

builds=('' -sight -debug) options=()
if [[ -n $built ]]; then
  step "$cmake" --build "$built" # nothing is left to do, unless sources have changed
  step "$cmake" --install "$built" --prefix "$scratch/prefix"
  builds=(-sight -debug) options=("-D$(grep '^CMAKE_INSTALL_LIBDIR:' "$built/CMakeCache.txt")") # in the same place
fi
for suffix in "${builds[@]}"; do
  kind=${suffix#-}
  step "$cmake" -S "$source" -B "$scratch/build$suffix" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O0 \
    "${options[@]}" -DVOLT_UNITY=ON -DVOLT_IO=OFF -DVOLT_MAN=OFF ${kind:+"-DVOLT_${kind^^}=ON"} # as quickly as it goes
  step "$cmake" --build "$scratch/build$suffix"
  step "$cmake" --install "$scratch/build$suffix" --prefix "$scratch/prefix"
done
libdir=$(dirname "$(find "$scratch/prefix" -name libvolt-sync.so)")
soname_of() { readelf -d "$1" | sed -nE 's/.*\(SONAME\).*\[(.*)\]$/\1/p'; }
for suffix in '' -sight -debug; do
  for name in sync rt; do
    library=$libdir/libvolt-$name$suffix.so
    [[ -e $library ]] || fail "no $library was installed"
    soname=$(soname_of "$library")
    [[ $soname == libvolt-$name$suffix.so.* && -e $libdir/$soname ]] || fail "the SONAME is '$soname'"
  done
  ../compile/exports.sh "$libdir/libvolt-sync$suffix.so" "$libdir/libvolt-rt$suffix.so"
  ../compile/dynamic.sh "$libdir/libvolt-sync$suffix.so" "$libdir/libvolt-rt$suffix.so"
done
if nm -D "$libdir/libvolt-sync.so" | grep -E 'volt_(party|holdable|sight_build)_'; then
  fail 'that is in the library as it is shipped'
fi

# by find_package
mkdir "$scratch/user"
cp consumer/main.c consumer/tasks.c "$scratch/user"
cat > "$scratch/user/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(volt 0.1 REQUIRED COMPONENTS sync rt sight debug)
foreach(suffix IN ITEMS "" "-static" "-sight" "-sight-static" "-debug" "-debug-static")
  add_executable(main${suffix} main.c)
  target_link_libraries(main${suffix} PRIVATE volt::sync${suffix})
  add_executable(tasks${suffix} tasks.c)
  target_link_libraries(tasks${suffix} PRIVATE volt::rt${suffix})
endforeach()
END
step "$cmake" -S "$scratch/user" -B "$scratch/by_cmake" -DCMAKE_PREFIX_PATH="$scratch/prefix"
step "$cmake" --build "$scratch/by_cmake"
needs() { readelf -d "$scratch/by_cmake/$1" | sed -nE 's/.*NEEDED.*\[(libvolt-sync[^.]*)\..*/\1/p'; }
for suffix in '' -sight -debug; do
  for program in {main,tasks}"$suffix"{,-static}; do "$scratch/by_cmake/$program" > /dev/null; done
  [[ $(needs "main$suffix") == "libvolt-sync$suffix" ]] || fail "main$suffix needs '$(needs "main$suffix")'"
done

# by pkg-config, and mixed
export PKG_CONFIG_PATH=$libdir/pkgconfig
link() { # <cflags of> <libs of> <program>...
  local flags
  read -ra flags < <(pkg-config --cflags "$1"; )
  read -ra libs < <(pkg-config --libs "$2")
  "$cc" -std=c11 "${flags[@]}" "${@:3}" "${libs[@]}" -o "$scratch/linked"
}
cat > "$scratch/lock.c" << 'END'
#include <volt/mutex.h>
int main(void) {
  static volt_mutex m = VOLT_MUTEX_INIT;
  volt_mutex_lock(&m);
  volt_mutex_unlock(&m);
  return 0;
}
END
for program in "$scratch/lock.c" consumer/tasks.c; do
  for suffix in '' -sight -debug; do
    link volt-rt$suffix volt-rt$suffix "$program"
    LD_LIBRARY_PATH=$libdir "$scratch/linked" > /dev/null
    [[ -n $suffix ]] || continue
    ! link volt-rt$suffix volt-rt "$program" 2> "$scratch/log" || fail "$program: it links with what is shipped"
    grep -q volt_sight_build_1 "$scratch/log" || fail "$(cat "$scratch/log")"
  done
done
for suffix in -sight -debug; do
  ! link volt-rt volt-rt$suffix "$scratch/lock.c" 2> "$scratch/log" || fail "it links with $suffix"
  grep -q volt_mutex_unlock "$scratch/log" || fail "$(cat "$scratch/log")"
  ! link volt-rt volt-rt$suffix consumer/tasks.c 2> "$scratch/log" || fail "tasks.c links with $suffix"
done

# A program does not run with the libraries of another build: not if they alone are where libraries are
# looked for, and not if they have the names of its own.
mkdir "$scratch/alone" "$scratch/renamed"
for suffix in '' -sight -debug; do
  link volt-rt$suffix volt-rt$suffix consumer/tasks.c
  for other in '' -sight -debug; do
    [[ $other != "$suffix" ]] || continue
    rm -f "$scratch"/{alone,renamed}/*
    cp "$libdir"/libvolt-{sync,rt}$other.so.* "$scratch/alone"
    if LD_LIBRARY_PATH=$scratch/alone "$scratch/linked" &> "$scratch/log"; then fail "it runs with $other"; fi
    grep -q "libvolt-rt$suffix.so.*cannot open shared object file" "$scratch/log" || fail "$(cat "$scratch/log")"
    for name in sync rt; do
      cp "$libdir/libvolt-$name$other.so" "$scratch/renamed/$(soname_of "$libdir/libvolt-$name$suffix.so")"
    done
    if LD_LIBRARY_PATH=$scratch/renamed "$scratch/linked" &> "$scratch/log"; then fail "it runs with $other"; fi
    grep -qE "version .VOLT_[A-Z_]*0\.[0-9]+' not found \(required by " "$scratch/log" || fail "$(cat "$scratch/log")"
  done
done
echo 'all are installed side by side, and do not mix'

#!/usr/bin/env bash
# usage: sight.sh [DIRECTORY]: where lib.sh has built them as they are shipped, which is not done again.
# Installs the libraries twice in one place, as they are shipped and with VOLT_SIGHT=ON, and uses each,
# by find_package and by pkg-config. A program and a library of different builds do not link.
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

ways=(OFF ON) options=()
if [[ -n $built ]]; then
  step "$cmake" --build "$built" # nothing is left to do, unless sources have changed
  step "$cmake" --install "$built" --prefix "$scratch/prefix"
  ways=(ON) options=("-D$(grep '^CMAKE_INSTALL_LIBDIR:' "$built/CMakeCache.txt")") # in the same place
fi
for sight in "${ways[@]}"; do
  step "$cmake" -S "$source" -B "$scratch/$sight" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O0 \
    "${options[@]}" -DVOLT_IO=OFF -DVOLT_MAN=OFF -DVOLT_SIGHT=$sight # as quickly as it goes
  step "$cmake" --build "$scratch/$sight"
  step "$cmake" --install "$scratch/$sight" --prefix "$scratch/prefix"
done
libdir=$(dirname "$(find "$scratch/prefix" -name libvolt-sync.so)")
for name in sync rt; do
  soname=$(readelf -d "$libdir/libvolt-$name-sight.so" | sed -nE 's/.*\(SONAME\).*\[(.*)\]$/\1/p')
  [[ $soname == libvolt-$name-sight.so.* && -e $libdir/$soname ]] || fail "the SONAME is '$soname'"
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
find_package(volt 0.1 REQUIRED COMPONENTS sync rt sight)
foreach(suffix IN ITEMS "" "-static" "-sight" "-sight-static")
  add_executable(main${suffix} main.c)
  target_link_libraries(main${suffix} PRIVATE volt::sync${suffix})
  add_executable(tasks${suffix} tasks.c)
  target_link_libraries(tasks${suffix} PRIVATE volt::rt${suffix})
endforeach()
END
step "$cmake" -S "$scratch/user" -B "$scratch/by_cmake" -DCMAKE_PREFIX_PATH="$scratch/prefix"
step "$cmake" --build "$scratch/by_cmake"
for program in {main,tasks}{,-sight}{,-static}; do "$scratch/by_cmake/$program" > /dev/null; done
needs() { readelf -d "$scratch/by_cmake/$1" | sed -nE 's/.*NEEDED.*\[(libvolt-sync[^.]*)\..*/\1/p'; }
[[ $(needs main) == libvolt-sync && $(needs main-sight) == libvolt-sync-sight ]] ||
  fail "they need '$(needs main)' and '$(needs main-sight)'"

# by pkg-config, and mixed
export PKG_CONFIG_PATH=$libdir/pkgconfig
link() { # <cflags of> <libs of> <program>...
  local flags
  read -ra flags < <(pkg-config --cflags "$1"; )
  read -ra libs < <(pkg-config --libs "$2")
  "$cc" -std=c11 "${flags[@]}" "${@:3}" "${libs[@]}" -Wl,-rpath,"$libdir" -o "$scratch/linked"
}
cat > "$scratch/lock.c" << 'END'
#include <volt/mutex.h>
int main(void) {
  static volt_mutex m = VOLT_MUTEX_INIT;
  volt_mutex_lock_no_deadline(&m);
  volt_mutex_unlock(&m);
  return 0;
}
END
for program in "$scratch/lock.c" consumer/tasks.c; do
  for suffix in '' -sight; do
    link volt-rt$suffix volt-rt$suffix "$program"
    "$scratch/linked" > /dev/null
  done
  ! link volt-rt-sight volt-rt "$program" 2> "$scratch/log" || fail "$program: it links with what is shipped"
  grep -q volt_sight_build_1 "$scratch/log" || fail "$(cat "$scratch/log")"
done
! link volt-rt volt-rt-sight "$scratch/lock.c" 2> "$scratch/log" || fail 'it links with the other'
grep -q volt_mutex_unlock "$scratch/log" || fail "$(cat "$scratch/log")"
! link volt-rt volt-rt-sight consumer/tasks.c 2> "$scratch/log" || fail 'tasks.c links with the other'
echo 'both are installed side by side, and do not mix'

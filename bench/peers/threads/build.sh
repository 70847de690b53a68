#!/usr/bin/env bash
# Build the workloads of plain threads on the libraries of others, each a program of its own, of the
# files of ../../programs/threads.
#
# build.sh DIRECTORY [LIBRARY...]    where to; which ones, all if none is named: glibc nsync ck
#                                    absl tbb moodycamel. Programs: DIRECTORY/bench-threads-LIBRARY
set -euo pipefail

usage='usage: build.sh DIRECTORY [glibc|nsync|ck|absl|tbb|moodycamel]...'
into=${1:?$usage}
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
threads=$(cd "$here/../../programs/threads" && pwd)
root=$(cd "$here/../../.." && pwd)
mkdir -p "$into"
into=$(cd "$into" && pwd)
flags=(-O2 -DNDEBUG -Wall -Wextra -Wshadow -D_GNU_SOURCE -pthread
  -I "$threads" -I "$root/bench/programs" -I "$root/include")

# version_of <Debian package>: of what it packages, or ? where there is no such package
version_of() {
  local version format="\${source:Upstream-Version}"
  version=$(dpkg-query --show --showformat "$format" "$1" 2> /dev/null) || version='?'
  echo "${version%+ds*}" # left out of the source: no matter
}

# compile <object> <source> <flag>...
compile() {
  local object=$1 source=$2
  shift 2
  case $source in
    *.cpp) "${CXX:-g++}" -std=c++17 "${flags[@]}" "$@" -c -o "$object" "$source" ;;
    *) "${CC:-gcc}" -std=c11 "${flags[@]}" "$@" -c -o "$object" "$source" ;;
  esac
}

# program <library> <version> <source> <engine>...: $libraries is what to link it with
program() {
  local library=$1 version=$2 source=$here/$3 objects=() engines='' engine
  shift 3
  local scratch="$into/objects-$library"
  mkdir -p "$scratch"
  for engine in "$@"; do
    engines+="E($engine) "
    compile "$scratch/engine-$engine.o" "$source" "-DENGINE_${engine^^}" \
      "-DBENCH_ENGINE=bench_engine_$engine" "-DVERSION_TEXT=\"$version\""
    objects+=("$scratch/engine-$engine.o")
  done
  compile "$scratch/main.o" "$threads/main.c" "-DBENCH_ENGINES=$engines"
  compile "$scratch/crew.o" "$threads/crew.c"
  "${CXX:-g++}" -pthread -o "$into/bench-threads-$library" "$scratch"/{main,crew}.o \
    "${objects[@]}" "${libraries[@]}"
}

build() {
  local libraries=()
  case $1 in
    glibc) program glibc '' glibc.c mutex sem rwlock adaptive writer cond sem_t family ;;
    nsync)
      libraries=(-lnsync)
      program nsync "$(version_of libnsync-dev)" nsync.c nsync
      ;;
    ck)
      program ck "$(pkg-config --modversion ck)" ck.c fas ticket mcs rwlock tflock pflock ring
      ;;
    absl)
      read -r -a libraries <<< "$(pkg-config --libs absl_synchronization absl_time)"
      program absl "$(version_of libabsl-dev)" absl.cpp absl
      ;;
    tbb)
      libraries=(-ltbb)
      program tbb "$(version_of libtbb-dev)" tbb.cpp mutex queuing queue
      ;;
    moodycamel)
      program moodycamel "$(version_of libconcurrentqueue-dev)" moodycamel.cpp sem queue unbounded
      ;;
    *)
      echo "$usage" >&2
      exit 2
      ;;
  esac
}

if (($# == 0)); then
  set -- glibc nsync ck absl tbb moodycamel
fi
for library; do
  build "$library"
done

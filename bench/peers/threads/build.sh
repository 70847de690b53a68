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

# program <library> <version> <engine>...: an engine is "symbol source flag..."; $libraries is what
# to link it with
program() {
  local library=$1 version=$2 objects=() engines='' engine words
  shift 2
  local scratch="$into/objects-$library"
  mkdir -p "$scratch"
  for engine in "$@"; do
    read -r -a words <<< "$engine"
    engines+="E(${words[0]}) "
    compile "$scratch/${words[0]}.o" "$here/${words[1]}" "${words[@]:2}" \
      "-DBENCH_ENGINE=bench_engine_${words[0]}" "-DVERSION_TEXT=\"$version\""
    objects+=("$scratch/${words[0]}.o")
  done
  compile "$scratch/main.o" "$threads/main.c" "-DBENCH_ENGINES=$engines"
  compile "$scratch/crew.o" "$threads/crew.c"
  compile "$scratch/wake.o" "$threads/wake.c"
  "${CXX:-g++}" -pthread -o "$into/bench-threads-$library" "$scratch"/{main,crew,wake}.o \
    "${objects[@]}" "${libraries[@]}"
}

build() {
  local libraries=()
  case $1 in
    glibc)
      program glibc '' 'mutex glibc_mutex.c' 'sem glibc_sem.c' 'rwlock glibc_rwlock.c' \
        'adaptive glibc_mutex.c -DADAPTIVE' 'writer glibc_rwlock.c -DWRITER' \
        'cond glibc_cond.c' 'sem_t glibc_sem.c -DALONE' 'family glibc_family.c'
      ;;
    nsync)
      libraries=(-lnsync)
      program nsync "$(version_of libnsync-dev)" 'nsync nsync.c' 'family nsync_family.c'
      ;;
    ck)
      program ck "$(pkg-config --modversion ck)" 'fas ck_lock.c' 'ticket ck_lock.c -DTICKET' \
        'mcs ck_lock.c -DMCS' 'rwlock ck_rwlock.c' 'tflock ck_rwlock.c -DTFLOCK' \
        'pflock ck_rwlock.c -DPFLOCK' 'ring ck_ring.c'
      ;;
    absl)
      read -r -a libraries <<< "$(pkg-config --libs absl_synchronization absl_time)"
      program absl "$(version_of libabsl-dev)" 'absl absl.cpp'
      ;;
    tbb)
      libraries=(-ltbb)
      program tbb "$(version_of libtbb-dev)" 'mutex tbb_lock.cpp' \
        'queuing tbb_lock.cpp -DQUEUING' 'queue tbb_queue.cpp'
      ;;
    moodycamel)
      program moodycamel "$(version_of libconcurrentqueue-dev)" 'sem moodycamel_sem.cpp' \
        'queue moodycamel_queue.cpp' 'unbounded moodycamel_queue.cpp -DUNBOUNDED'
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

#!/usr/bin/env bash
# usage: install.sh BUILD_DIR
# Installs a build into a temporary prefix, moves it, and builds and runs a program against it: by
# find_package and by pkg-config, shared and static. Compiles the examples as they say. Then looks at
# what was installed. A build that is not as shipped has a suffix: libvolt-sync-debug, volt-sync-debug.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"
source=$(realpath ../..)
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi
cc=${CC:-cc} cxx=${CXX:-c++}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

step() {
  "$@" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
}

install_and_move() {
  step "$cmake" --install "$build" --prefix "$scratch/prefix"
  mv "$scratch/prefix" "$prefix"
  library=$(find "$prefix" -name 'libvolt-sync*.so')
  [[ -n $library ]] || fail "no shared library was installed"
  libdir=$(dirname "$library")
  suffix=${library##*/libvolt-sync} suffix=${suffix%.so}
  libraries=("$library" "$libdir/libvolt-rt$suffix.so") has_io=0 has_cluster=0 has_tls=0 has_cxx=0
  if command -v "$cxx" > /dev/null; then has_cxx=1; fi
  if [[ -e $libdir/libvolt-io$suffix.so ]]; then
    libraries+=("$libdir/libvolt-io$suffix.so") has_io=1
  elif [[ -e $build/libvolt-io$suffix.so ]]; then
    fail "libvolt-io was built and not installed"
  fi
  if [[ -e $libdir/libvolt-cluster$suffix.so ]]; then
    libraries+=("$libdir/libvolt-cluster$suffix.so") has_cluster=1
  elif [[ -e $build/libvolt-cluster$suffix.so ]]; then
    fail "libvolt-cluster was built and not installed"
  fi
  if [[ -e $libdir/libvolt-tls$suffix.so ]]; then
    libraries+=("$libdir/libvolt-tls$suffix.so") has_tls=1
  elif [[ -e $build/libvolt-tls$suffix.so ]]; then
    fail "libvolt-tls was built and not installed"
  fi
}

needs_shared() { readelf -d "$1" | grep "NEEDED.*libvolt-sync$suffix\.so\." > /dev/null; }

by_cmake() {
  local program
  step "$cmake" -S consumer -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DVOLT_SUFFIX="$suffix"
  step "$cmake" --build "$scratch/cmake"
  "$scratch/cmake/consumer_shared"
  "$scratch/cmake/consumer_static"
  "$scratch/cmake/tasks_shared"
  "$scratch/cmake/tasks_static"
  "$scratch/cmake/bridge_shared"
  "$scratch/cmake/bridge_static"
  if ((has_io)); then
    "$scratch/cmake/pipe_shared"
    "$scratch/cmake/pipe_static"
  fi
  if ((has_cluster)); then
    "$scratch/cmake/host_shared"
    "$scratch/cmake/host_static"
  fi
  if ((has_tls)); then
    "$scratch/cmake/context_shared"
    "$scratch/cmake/context_static"
  fi
  if ((has_cxx)); then
    step "$cmake" -S consumer/cpp -B "$scratch/cmake_cpp" -DCMAKE_PREFIX_PATH="$prefix" -DVOLT_SUFFIX="$suffix" \
      -DCMAKE_CXX_COMPILER="$cxx"
    step "$cmake" --build "$scratch/cmake_cpp"
    for program in "$scratch"/cmake_cpp/guards_*; do "$program"; done
  fi
  needs_shared "$scratch/cmake/consumer_shared" || fail "volt::sync did not link the shared library"
  ! needs_shared "$scratch/cmake/consumer_static" || fail "volt::sync-static linked the shared library"
}

by_pkg_config() {
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  local shared static
  read -ra shared < <(pkg-config --cflags --libs volt-sync$suffix)
  read -ra static < <(pkg-config --static --cflags --libs volt-sync$suffix)
  "$cc" -std=c11 consumer/main.c "${shared[@]}" -o "$scratch/pc_shared"
  LD_LIBRARY_PATH=$libdir "$scratch/pc_shared"
  needs_shared "$scratch/pc_shared" || fail "pkg-config did not lead to the shared library"
  "$cc" -std=c11 -static consumer/main.c "${static[@]}" -o "$scratch/pc_static"
  "$scratch/pc_static"
  read -ra shared < <(pkg-config --cflags --libs volt-rt$suffix)
  read -ra static < <(pkg-config --static --cflags --libs volt-rt$suffix)
  "$cc" -std=c11 consumer/tasks.c "${shared[@]}" -o "$scratch/pc_tasks_shared"
  LD_LIBRARY_PATH=$libdir "$scratch/pc_tasks_shared"
  "$cc" -std=c11 -static consumer/tasks.c "${static[@]}" -o "$scratch/pc_tasks_static"
  "$scratch/pc_tasks_static"
  if ((has_cxx)); then
    "$cxx" -std=c++17 consumer/cpp/guards.cpp "${shared[@]}" -o "$scratch/pc_guards_shared"
    LD_LIBRARY_PATH=$libdir "$scratch/pc_guards_shared"
    "$cxx" -std=c++20 -static consumer/cpp/guards.cpp "${static[@]}" -o "$scratch/pc_guards_static"
    "$scratch/pc_guards_static"
  fi
  if ((has_io)); then
    read -ra shared < <(pkg-config --cflags --libs volt-io$suffix)
    read -ra static < <(pkg-config --static --cflags --libs volt-io$suffix)
    "$cc" -std=c11 consumer/pipe.c "${shared[@]}" -o "$scratch/pc_pipe_shared"
    LD_LIBRARY_PATH=$libdir "$scratch/pc_pipe_shared"
    "$cc" -std=c11 consumer/pipe.c -Wl,-Bstatic "${static[@]}" -Wl,-Bdynamic -o "$scratch/pc_pipe_static"
    "$scratch/pc_pipe_static"
    ! needs_shared "$scratch/pc_pipe_static" || fail "--static led to the shared library"
  fi
  if ((has_cluster)); then
    read -ra shared < <(pkg-config --cflags --libs volt-cluster$suffix)
    read -ra static < <(pkg-config --static --cflags --libs volt-cluster$suffix)
    "$cc" -std=c11 consumer/host.c "${shared[@]}" -o "$scratch/pc_host_shared"
    LD_LIBRARY_PATH=$libdir "$scratch/pc_host_shared"
    "$cc" -std=c11 consumer/host.c -Wl,-Bstatic "${static[@]}" -Wl,-Bdynamic -o "$scratch/pc_host_static"
    "$scratch/pc_host_static"
  fi
  if ((has_tls)); then
    read -ra shared < <(pkg-config --cflags --libs volt-tls$suffix)
    "$cc" -std=c11 consumer/context.c "${shared[@]}" -o "$scratch/pc_context_shared"
    LD_LIBRARY_PATH=$libdir "$scratch/pc_context_shared"
  fi
  [[ $(pkg-config --modversion "volt-sync$suffix") == "$("$scratch/pc_static")" ]] ||
    fail "volt-sync.pc and the library disagree on the version"
}

# Whether the event loop's library is here whose bridge an example includes; true for all others.
has_the_loop_of() { # <example>
  case $(sed -nE 's/^#include <volt\/(uv|glib|event|ev)\.h>.*/\1/p' "$1") in
    uv) pkg-config --exists libuv ;;
    glib) pkg-config --exists glib-2.0 ;;
    event) pkg-config --exists libevent_core ;;
    ev) echo '#include <ev.h>' | "$cc" -fsyntax-only -x c - 2> /dev/null ;;
  esac
}

# Whether the libraries are here with which an example is compiled so.
has_the_libraries_of() { # <line>
  if [[ $1 == *liburing* ]] && ! pkg-config --exists liburing; then return 1; fi
  case $1 in
    *volt-cluster*) ((has_cluster)) ;;
    *volt-tls*) ((has_tls)) ;;
    *volt-io*) ((has_io)) ;;
  esac
}

# Each example, compiled in an empty directory by the line that its first comment gives.
by_the_examples() {
  local example line count=0
  cc() { command "$cc" "$@" -Wall -Wextra -pedantic -Werror; }
  c++() { command "$cxx" "$@" -Wall -Wextra -pedantic -Werror; }
  for example in "$source"/examples/*.c "$source"/examples/*.cpp; do
    if [[ $example == *.cpp ]] && ! ((has_cxx)); then continue; fi
    line=$(sed -nE 's/^ \*   (cc|c\+\+)( .*)$/\1\2/p' "$example" | sed -E "s/\<volt-(sync|rt|io|cluster|tls)\>/&$suffix/g")
    [[ -n $line ]] || fail "${example##*/} does not say how it is compiled"
    if ! has_the_loop_of "$example"; then
      echo "skipped: ${example##*/}: the library of its loop is not here"
      continue
    fi
    if ! has_the_libraries_of "$line"; then
      echo "skipped: ${example##*/}: the library for it is not here"
      continue
    fi
    mkdir "$scratch/example"
    cp "$example" "$scratch/example"
    (cd "$scratch/example" && eval "$line") || fail "${example##*/}: $line"
    LD_LIBRARY_PATH=$libdir ../examples/example_test.sh "$example" "$scratch/example/a.out" || (($? == 77))
    rm -r "$scratch/example"
    count=$((count + 1))
  done
  ((count > 0)) || fail 'there are no examples'
}

by_man() {
  local viewer page looked=0
  if [[ ! -e $build/man ]]; then
    echo 'no manual pages: this build has no Python 3'
    return
  fi
  for viewer in man mman; do # of man-db, of mandoc; a Debian without manuals has a man that says so
    if ! command -v "$viewer" > /dev/null || "$viewer" -w mandoc 2>&1 | grep minimized > /dev/null; then continue; fi
    for page in volt_sem_acquire volt_sem_acquire_all_future volt_chan_recv_until VOLT_EAGAIN volt; do
      MANPAGER="cat" "$viewer" -M "$prefix/share/man" "$page" < /dev/null > "$scratch/log" 2>&1 ||
        fail "$viewer $page:" "$(cat "$scratch/log")"
      grep -q "$page" <(sed 's/.\x08//g' "$scratch/log") || fail "$viewer $page shows something else"
      looked=$((looked + 1))
    done
  done
  echo "$looked manual pages were read"
}

# volt-top and volt-run, and their pages; they need no library of volt.
by_tool() { # <name>
  local page=$prefix/share/man/man1/$1.1
  [[ $("$prefix/bin/$1" --help) == "usage: $1"* ]] || fail "$1 was not installed"
  ! readelf -d "$prefix/bin/$1" | grep 'NEEDED.*libvolt' > /dev/null || fail "$1 needs a library of volt"
  if command -v mandoc > /dev/null; then mandoc -T lint -W warning "$page" || fail "$page: see above"; fi
  "$prefix/bin/$1" --help | grep -oE -- '--[a-z-]+' | sort -u | while read -r entry; do
    grep -qE -- "Fl -${entry#--}( |$)" "$page" || fail "$page does not know $entry"
  done
}

look_at_it() {
  local entry undefined path
  ../compile/dynamic.sh "${libraries[@]}"
  for entry in "${libraries[@]}"; do
    path=$(readelf -d "$entry" | sed -nE 's/.*\(SONAME\).*\[(.*)\]$/\1/p')
    [[ -e $libdir/$path ]] || fail "the SONAME $path leads nowhere"
  done
  [[ -e $libdir/libvolt-sync$suffix.a ]] || fail "no static library was installed"
  [[ -n $(find "$prefix" -name LICENSE) ]] || fail "no license was installed"
  for entry in "$source"/include/volt/{,detail/}*.h "$source"/include/volt/{,cpp/}*.hpp; do
    cmp -s "$entry" "$prefix/include/${entry#"$source/include/"}" || fail "$entry was not installed"
  done
  ../compile/exports.sh "${libraries[@]}"
  for entry in "${libraries[@]}"; do
    undefined=$(LC_ALL=C ldd -r "$entry" 2>&1 | grep -i 'undefined' || true)
    [[ -z $undefined ]] || fail "$undefined"
  done
  for path in "$source" "$build" "$scratch/prefix"; do
    entry=$(grep -rlF -- "$path" "$prefix" || true)
    [[ -z $entry ]] || fail "the build path $path is in" "$entry"
  done
}

# gdb has the commands as it loads the library, from a directory that it trusts.
by_gdb() {
  local auto=$prefix/share/gdb/auto-load script loaded
  script=$(find "$auto" -name "libvolt-rt$suffix.so.*-gdb.py")
  cmp -s "$source/tools/volt_gdb.py" "$script" && cmp -s "$script" "$prefix/share/volt/volt_gdb.py" ||
    fail 'the commands of gdb were not installed'
  diff -r -x __pycache__ "$source/tools/voltgdb" "$prefix/share/volt/voltgdb" || fail 'not all commands of gdb were installed'
  diff -r "$source/tools/bpftrace" "$prefix/share/volt/bpftrace" || fail 'the scripts of bpftrace were not installed'
  [[ $(readlink -f "$libdir/libvolt-rt$suffix.so") == */"$(basename "$script" -gdb.py)" ]] ||
    fail "$script is not named after the library"
  if ! command -v gdb > /dev/null; then
    echo 'no gdb here: its commands were not tried'
    return
  fi
  local trusted=$scratch/trusted/share/gdb/auto-load # as if the prefix were /usr
  mkdir -p "$trusted$libdir" "$scratch/trusted/share/volt"
  cp "$script" "$trusted$libdir"
  cp -r "$prefix/share/volt/voltgdb" "$scratch/trusted/share/volt"
  loaded=$(gdb -nx -batch -iex "add-auto-load-safe-path $scratch" -ex 'help volt fibers' \
    -iex "add-auto-load-scripts-directory $trusted" "$(readlink -f "$libdir/libvolt-rt$suffix.so")" 2>&1)
  [[ $loaded == *'list the fibers'* ]] || fail "$loaded"
}

install_and_move
by_cmake
by_pkg_config
by_the_examples
by_man
by_gdb
by_tool volt-top
by_tool volt-run
[[ $("$prefix/bin/volt-run" sh -c 'echo runs') == runs ]] || fail 'volt-run does not find its library'
look_at_it

#!/usr/bin/env bash
# Every public header compiles alone, as C11 and as C++17, with all warnings as errors; so each type is as
# small as is said beside it. Those of C++ compile as C++17, C++20 and C++23, with and without exceptions;
# those of coroutines not as C++17, and those of C not as C99: one error says why. The bridges to other libraries' event loops (volt/uv.h and its like)
# compile where those libraries are. A header is alone with gcc, one of C as C11, and one of C++ if programs
# include it; as C++, and with clang, all of those of C are in one unit, which shows the same warnings. The
# long form has each header alone with every compiler, in each language.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh

mapfile -t warnings < tests/compile/warnings.txt # what a parent project may compile with
compiled=0

# What the header of another library's loop needs besides. No warnings of that library's own headers.
declare -A theirs=([volt/uv.h]='uv.h libuv' [volt/glib.h]='glib.h glib-2.0' [volt/event.h]='event2/event.h -'
  [volt/ev.h]='ev.h -')

options_for() { # <header>: into options; returns 1 if the library is not here
  options=()
  [[ -n ${theirs[$1]:-} ]] || return 0
  local header package flag
  read -r header package <<< "${theirs[$1]}"
  options=(-D_GNU_SOURCE) # strict C11 has not what they use of POSIX
  if [[ $package != - ]]; then
    for flag in $(pkg-config --cflags-only-I "$package" 2> /dev/null); do
      options+=(-isystem "${flag#-I}")
    done
  fi
  echo "#include <$header>" | cc -x c -std=c11 "${options[@]}" -fsyntax-only - 2> /dev/null
}

alone() { # <compiler> <language> <standard> <header> <option>...
  printf '#include <%s>\n#include <%s>\nint volt_header_test(void);\n' "$4" "$4" |
    "$1" -x "$2" -std="$3" "${warnings[@]}" "${options[@]}" "${@:5}" -Iinclude -fsyntax-only - ||
    { echo "$4 does not compile alone with $1 -std=$3 ${*:5}" >&2; exit 1; }
  compiled=$((compiled + 1))
}

together() { # <compiler> <language> <standard> <option>... -- <header>...: in one unit
  local compiler=("${@:1:3}") extra=()
  shift 3
  while [[ $1 != -- ]]; do extra+=("$1"); shift; done
  shift
  printf '#include <%s>\n' "$@" "$@" |
    "${compiler[0]}" -x "${compiler[1]}" -std="${compiler[2]}" "${warnings[@]}" "${extra[@]}" -Iinclude \
      -fsyntax-only - ||
    { echo "they do not compile together with ${compiler[0]} -std=${compiler[2]} ${extra[*]}: $*" >&2; exit 1; }
  compiled=$((compiled + 1))
}

# Of the compilers given, the first that is here; all of them in the long form.
of() { # <compiler>...: into chosen
  local compiler
  chosen=()
  for compiler in "$@"; do
    if command -v "$compiler" > /dev/null; then chosen+=("$compiler"); fi
  done
  if ! whole; then chosen=("${chosen[@]:0:1}"); fi
}

# ---- those of C ----

of_ours=()
for header in include/volt/*.h include/volt/detail/*.h; do
  header=${header#include/}
  if ! options_for "$header"; then
    echo "skipped: $header: there is no <${theirs[$header]% *}> here"
    continue
  fi
  if [[ -z ${theirs[$header]:-} ]]; then of_ours+=("$header"); fi
  of gcc clang
  for cc in "${chosen[@]}"; do alone "$cc" c c11 "$header"; done
  if whole || [[ -n ${theirs[$header]:-} ]]; then
    of g++ clang++
    for cxx in "${chosen[@]}"; do alone "$cxx" c++ c++17 "$header"; done
  fi
done
if command -v g++ > /dev/null; then together g++ c++ c++17 -- "${of_ours[@]}"; fi
if command -v clang > /dev/null; then together clang c c11 -- "${of_ours[@]}"; fi
if command -v clang++ > /dev/null; then together clang++ c++ c++17 -- "${of_ours[@]}"; fi

# ---- those of C++ ----

for header in include/volt/{,cpp/}*.hpp; do
  header=${header#include/} standards=(c++17) options=()
  if [[ $header == *asio* ]]; then continue; fi # below
  if [[ $header == volt/*/* ]] && ! whole; then continue; fi # a part of those that programs include
  if [[ $header == *coro* ]]; then standards=(c++20); fi
  if whole && [[ $header != volt/*/* ]]; then # those that programs include: they have all the others
    standards=(c++17 c++20 c++2b)
    if [[ $header == *coro* ]]; then standards=(c++20 c++2b); fi
  fi
  of g++ clang++
  for cxx in "${chosen[@]}"; do
    for standard in "${standards[@]}"; do alone "$cxx" c++ "$standard" "$header"; done
    if [[ $header == volt/*/* ]] || ! whole; then continue; fi
    alone "$cxx" c++ "${standards[0]}" "$header" -fno-exceptions -fno-rtti
  done
done

# That for Asio needs one: standalone, or Boost's, also one without cancellation slots (1.74).
of_asio() { # <header of Asio> <0 or 1: whether it is Boost's>
  local cxx standards=(c++17)
  if ! echo "#include <$1>" | c++ -x c++ -E - &> /dev/null; then
    echo "skipped: volt/asio.hpp with <$1>: it is not here"
    return
  fi
  if whole; then standards=(c++17 c++20 c++2b); fi
  options=("-DVOLT_ASIO_BOOST=$2")
  of g++ clang++
  for cxx in "${chosen[@]}"; do
    for standard in "${standards[@]}"; do alone "$cxx" c++ "$standard" volt/asio.hpp; done
  done
  options=()
}
if whole; then of_asio asio.hpp 0; fi # unit.asio includes it first
of_asio boost/asio.hpp 1

# What programs include, in the forms that are not looked at above.
plain=(volt/io.hpp volt/std.hpp volt/volt.hpp) all=(volt/coro.hpp "${plain[@]}")
for cxx in g++ clang++; do
  command -v "$cxx" > /dev/null || continue
  together "$cxx" c++ c++17 -fno-exceptions -fno-rtti -- "${plain[@]}"
  together "$cxx" c++ c++2b -- "${all[@]}"
done
if command -v clang++ > /dev/null; then
  together clang++ c++ c++17 -- "${plain[@]}"
  together clang++ c++ c++20 -fno-exceptions -fno-rtti -- "${all[@]}"
fi

# A language that is too old is told so, in one error.
too_old() { # <compiler> <language> <standard> <header> <telling words>
  local messages
  command -v "$1" > /dev/null || return 0
  messages=$(echo "#include <$4>" | LC_ALL=C "$1" -x "$2" -std="$3" -Iinclude -fsyntax-only - 2>&1) &&
    { echo "$4 compiles with $1 -std=$3" >&2; exit 1; }
  if [[ $(grep -c 'error: ' <<< "$messages") != 1 || $messages != *"$5"* ]]; then
    printf '%s\n%s with %s -std=%s: not one error that says "%s"\n' "$messages" "$4" "$1" "$3" "$5" >&2
    exit 1
  fi
  compiled=$((compiled + 1))
}
for cc in gcc clang; do too_old "$cc" c c99 volt/volt.h 'volt needs C11'; done
for cxx in g++ clang++; do too_old "$cxx" c++ c++17 volt/coro.hpp 'needs coroutines: compile with -std=c++20'; done

echo "$compiled compilations"
((compiled > 0)) || exit 77

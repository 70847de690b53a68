# shellcheck shell=bash disable=SC2154 # $scratch
# Sourced by tests that want the library as objects and do not ask how it was compiled: it is compiled once
# for all of them, in the directory VOLT_OBJECTS if that is set. What is there is used again as long as
# sources, compiler and options are the same. $scratch is a directory of the test's own.

# Compiles the rooms of the library but libvolt-io and libvolt-cluster: objects is where they are, a file
# <name>.c.o for each.
library_objects() { # <name> <compiler and its options>...
  kept_objects file_by_file "$@"
}

# The same for tests that do not ask what is in which file: <room>.o for each, in a fifth of the time.
room_objects() { # <name> <compiler and its options>...
  kept_objects room_by_room "$@"
}

kept_objects() { # <way> <name> <compiler and its options>...
  local way=$1 name=$2 command=("${@:3}") key lock='' store=${VOLT_OBJECTS:-}
  objects=$scratch/objects-$name
  if [[ -n $store ]] && command -v flock > /dev/null; then
    key=$({ printf '%s\n' "$PWD" "$way" "${command[@]}" && "${command[0]}" --version &&
      cat src/*/*.[ch] src/*/*/*.[ch] include/volt/*.h include/volt/detail/*.h; } | sha256sum | cut -c1-16)
    objects=$store/$name-$key
    mkdir -p "$store"
    exec {lock}> "$store/$name.lock"
    flock "$lock"
  fi
  if [[ ! -e $objects ]]; then
    rm -rf "${store:-$scratch/none}/$name"-*
    mkdir "$objects.new"
    "$way" "$objects.new" "${command[@]}" -Iinclude
    mv "$objects.new" "$objects"
  fi
  if [[ -n $lock ]]; then exec {lock}>&-; fi
}

file_by_file() { # <where> <compiler and its options>...
  local source
  for source in src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c; do
    "${@:2}" -c "$source" -o "$1/${source##*/}.o"
  done
}

room_by_room() { # <where> <compiler and its options>...
  local room
  for room in core sync bcs async rt sight; do
    sources_of_room $room | "${@:2}" -D_GNU_SOURCE -x c -c - -o "$1/$room.o"
  done
}

# All sources of a room as one: no two of them call anything alike. _GNU_SOURCE has to be defined before.
sources_of_room() { # <room> [those to leave out, an extended regular expression]
  printf '%s\n' "src/$1"/*.c "src/$1"/*/*.c | grep -v '[*]' | grep -vE "${2:-^$}" |
    sed "s|.*|#include \"$PWD/&\"|"
}

# As a release is built, with the warnings that a parent project may ask for; by gcc, if it is here.
release_objects() {
  local warnings compiler=gcc
  mapfile -t warnings < tests/compile/warnings.txt
  command -v gcc > /dev/null || compiler=cc
  library_objects release "$compiler" -std=c11 -O2 "${warnings[@]}" -Wstrict-prototypes -Wmissing-prototypes
}

# Valgrind is told what it has to know of volt. Not optimised: what is looked at is what it is told.
valgrind_objects() {
  room_objects valgrind "${CC:-cc}" -std=c11 -gdwarf-4 -g1 -O0 -fno-omit-frame-pointer -Wall -Wextra -Werror -DVOLT_VALGRIND
}

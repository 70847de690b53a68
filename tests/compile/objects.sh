# shellcheck shell=bash disable=SC2154 # $scratch
# Sourced by tests that want the library as objects and do not ask how it was compiled: it is compiled once
# for all of them, in the directory VOLT_OBJECTS if that is set. What is there is used again as long as
# sources, compiler and options are the same. $scratch is a directory of the test's own.

# Compiles the rooms of the library but libvolt-io and libvolt-cluster: objects is where they are, a file
# <name>.c.o for each.
library_objects() { # <name> <compiler and its options>...
  local name=$1 command=("${@:2}") key source lock='' store=${VOLT_OBJECTS:-}
  objects=$scratch/objects-$name
  if [[ -n $store ]] && command -v flock > /dev/null; then
    key=$({ printf '%s\n' "$PWD" "${command[@]}" && "${command[0]}" --version &&
      cat src/*/*.[ch] src/*/*/*.[ch] include/volt/*.h include/volt/detail/*.h; } | sha256sum | cut -c1-16)
    objects=$store/$name-$key
    mkdir -p "$store"
    exec {lock}> "$store/$name.lock"
    flock "$lock"
  fi
  if [[ ! -e $objects ]]; then
    rm -rf "${store:-$scratch/none}/$name"-*
    mkdir "$objects.new"
    for source in src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c; do
      "${command[@]}" -Iinclude -c "$source" -o "$objects.new/${source##*/}.o"
    done
    mv "$objects.new" "$objects"
  fi
  if [[ -n $lock ]]; then exec {lock}>&-; fi
}

# As a release is built, with the warnings that a parent project may ask for; by gcc, if it is here.
release_objects() {
  local warnings compiler=gcc
  mapfile -t warnings < tests/compile/warnings.txt
  command -v gcc > /dev/null || compiler=cc
  library_objects release "$compiler" -std=c11 -O2 "${warnings[@]}" -Wstrict-prototypes -Wmissing-prototypes
}

# Valgrind is told what it has to know of volt.
valgrind_objects() {
  library_objects valgrind "${CC:-cc}" -std=c11 -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror -DVOLT_VALGRIND
}

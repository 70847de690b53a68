#!/usr/bin/env bash
# Sanitizers and Valgrind know of the stacks of fibers: they find nothing where nothing is wrong, and one
# planted mistake in a fiber with the functions that it is in. The quick form has AddressSanitizer of gcc,
# ThreadSanitizer of clang, and memcheck; if one of these is not here, that of the other compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh
. tests/compile/objects.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ASAN_OPTIONS=detect_stack_use_after_return=1 TSAN_OPTIONS='second_deadlock_stack=1'
looked=0

# Functions of the library are named without debug information, too. In the quick form the library is
# compiled as quickly as it goes: the mistakes are in the program.
build() { # <compiler> <option>...
  local level=-O0
  if whole; then level=-O1; fi
  room_objects "tools-$1${2//=/-}" "$1" -std=c11 "$level" -fno-omit-frame-pointer "${@:2}"
  link "$@"
}

link() { # <compiler> <option>...: the program, with what was compiled
  "$1" -std=c11 -g -O1 -fno-omit-frame-pointer -Iinclude "${@:2}" tests/compile/fiber_tools.c \
    "$objects"/*.o -pthread -o "$scratch/program"
}

# Addresses are less random than newer kernels make them: ThreadSanitizer of gcc 12 wants that.
run() { # <how to start it>... <mistake>
  local starter=()
  if setarch -R true 2> /dev/null; then starter=(setarch -R); fi
  "${starter[@]}" "$@" > "$scratch/log" 2>&1
}

fail() {
  head -n 60 "$scratch/log" >&2
  echo "$1" >&2
  exit 1
}

finds_nothing() { # <name> <how to start it>...
  run "${@:2}" clean || fail "$1 finds something where nothing is wrong"
  [[ $(< "$scratch/log") != *WARNING* ]] || fail "$1 warns where nothing is wrong"
  ! grep -qE 'switching stacks|brk segment overflow' "$scratch/log" || fail "$1 does not know a stack"
  grep -qx done "$scratch/log" || fail "$1: the program has not come to its end"
}

finds() { # <name> <mistake> <what its report says, a line each>... -- <how to start it>...
  local name=$1 mistake=$2 words
  shift 2
  local wanted=()
  while [[ $1 != -- ]]; do wanted+=("$1"); shift; done
  shift
  ! run "$@" "$mistake" || fail "$name does not see the mistake '$mistake'"
  for words in "${wanted[@]}"; do
    grep -qE -- "$words" "$scratch/log" || fail "$name does not say '$words' of '$mistake'"
  done
  looked=$((looked + 1))
}

can() { # <compiler> <option>...: whether such a program can be built and run here
  echo 'int main(void) { return 0; }' > "$scratch/probe.c"
  if [[ $1 == clang* ]]; then # its sanitizers name no functions without this
    command -v llvm-symbolizer > /dev/null || return 1
  fi
  command -v "$1" > /dev/null && "$@" "$scratch/probe.c" -o "$scratch/probe" 2> /dev/null &&
    run "$scratch/probe"
}

address() { # <compiler>
  can "$1" -fsanitize=address || return 0
  build "$1" -fsanitize=address
  finds_nothing "$1, AddressSanitizer" "$scratch/program"
  finds AddressSanitizer beyond heap-buffer-overflow 'in write_beyond' 'in careless' 'in volt_fiber_entry_' \
    -- "$scratch/program"
  finds AddressSanitizer returned stack-use-after-return 'in use_returned' 'in forgetful' \
    'in keep_local' -- "$scratch/program"
  echo "$1: AddressSanitizer"
}

thread() { # <compiler>
  can "$1" -fsanitize=thread || return 0
  build "$1" -fsanitize=thread
  finds_nothing "$1, ThreadSanitizer" "$scratch/program"
  finds ThreadSanitizer race 'data race' add_without_lock add_from racing volt_fiber_entry_ \
    'first racer' 'second racer' -- "$scratch/program"
  echo "$1: ThreadSanitizer"
}

if whole; then
  for compiler in gcc clang; do
    address "$compiler"
    thread "$compiler"
  done
else
  if can gcc -fsanitize=address; then address gcc; else address clang; fi
  if can clang -fsanitize=thread; then thread clang; else thread gcc; fi
fi

if command -v valgrind > /dev/null && echo '#include <valgrind/memcheck.h>' | gcc -fsyntax-only -x c - 2> /dev/null; then
  valgrind_objects
  link "${CC:-cc}" -gdwarf-4 -DVOLT_VALGRIND # memcheck of Debian 12 cannot read what clang writes otherwise
  valgrind=(valgrind --error-exitcode=99 -q)
  finds_nothing memcheck "${valgrind[@]}" "$scratch/program"
  finds memcheck beyond 'Invalid write of size 1' ': write_beyond' ': careless' \
    -- "${valgrind[@]}" "$scratch/program"
  finds memcheck unset 'depends on uninitialised' ': (decide_by_unset|hasty)' -- "${valgrind[@]}" "$scratch/program"
  if whole; then
    finds_nothing helgrind "${valgrind[@]}" --tool=helgrind "$scratch/program"
    finds helgrind race 'Possible data race' ': add_without_lock' ': add_from' ': racing' \
      -- "${valgrind[@]}" --tool=helgrind "$scratch/program"
    finds_nothing callgrind "${valgrind[@]}" --tool=callgrind --callgrind-out-file="$scratch/out" "$scratch/program"
    callgrind_annotate "$scratch/out" > "$scratch/log" 2>&1
    grep -q ':descend' "$scratch/log" || fail 'callgrind knows no function of a fiber'
  fi
  echo 'Valgrind'
fi
((looked > 0)) || exit 77

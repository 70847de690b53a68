#!/usr/bin/env bash
# The libraries compile for musl and for x86 of 32 bits without a warning, and a small user of all of
# it (program.c), the sleeping (below) and, but for a second time_t, two stress tests run there. Of
# libvolt-io and libvolt-cluster all is compiled but what includes liburing or ZooKeeper's client, which
# are of one libc; by clang, whose warnings want no code, as far as these. What a machine cannot compile is
# named and left out. The quick form optimises by clang alone, and compiles libvolt-io and libvolt-cluster
# as far as warnings that want no code: what gcc sees when it optimises is the same for glibc (library.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/whole.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t warnings < tests/compile/warnings.txt
includes=(-Iinclude -Isrc -Ibench/programs -Itests/support -Itests/stress -Itests/stress/load "-I$scratch")
tests/compile/family.sh --lines > "$scratch/family_lines.h"
ran=0

# What differs between machines of 32 and 64 bits and between libcs: to sleep on an address until a
# time. By the library's own futex.h. Exits with 0 if all answers are right.
cat > "$scratch/sleep.c" << 'EOF'
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "core/os/futex.h"

static int failures;

static void expect(int got, int wanted, const char *what) {
  if (got == wanted) return;
  fprintf(stderr, "wrong: %s: %d, not %d\n", what, got, wanted);
  failures += 1;
}

int main(void) {
  VOLT_ATOMIC(uint32_t) word = 1;
  errno = 77;
  expect(volt_futex_wait32_(&word, 1, 1), VOLT_ETIMEDOUT, "a deadline that has passed");
  expect(volt_futex_wait32_(&word, 1, volt_deadline_ns(2000000)), VOLT_ETIMEDOUT,
         "one that passes");
  expect(volt_futex_wait32_(&word, 2, VOLT_NO_DEADLINE), VOLT_OK, "another value");
  /* beyond what a time_t of 32 bits can say */
  expect(volt_futex_wait32_(&word, 2, UINT64_C(3000000000) * 1000000000u), VOLT_OK, "in 95 years");
  expect(volt_futex_wait32_(&word, 2, VOLT_NO_DEADLINE - 1), VOLT_OK, "the last deadline");
  volt_futex_wake32_(&word, 1);
  expect(errno, 77, "errno");
  expect(failures, 0, "all of them");
  printf("pointers of %d bits, time_t of %d\n", (int)sizeof(void *) * 8, (int)sizeof(time_t) * 8);
  return failures;
}
EOF

compile() { # <option or file>...
  "${compiler[@]}" -std=c11 "$level" "${includes[@]}" "$@"
}

program() { # <source>...
  compile "$@" "$scratch"/objects/*.o -pthread -o "$scratch/program"
  VOLT_TEST_SECONDS=0.2 "$scratch/program" > "$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
  ran=$((ran + 1))
}

# Whether this platform's preprocessor makes the same of it as that of the one before, whose object is
# there.
before=(false)
is_the_same() { # <source>
  cmp -s <(compile -E "$1") <("${before[@]}" -std=c11 "$level" "${includes[@]}" -E "$1")
}

platform() { # <name> <compiler and its options>...
  local name=$1 compiler=("${@:2}") source object harness=tests/stress level=-O1
  echo 'int main(void) { return 0; }' > "$scratch/probe.c"
  if ! "${compiler[@]}" -include errno.h -pthread "$scratch/probe.c" -o "$scratch/probe" 2> /dev/null ||
    ! "$scratch/probe"; then
    echo "$name: skipped: no ${compiler[*]} here"
    return
  fi
  if [[ $name != *clang* ]] && ! whole; then level=-O0; fi
  rm -rf "$scratch/before"
  mkdir -p "$scratch/objects"
  mv "$scratch/objects" "$scratch/before"
  mkdir "$scratch/objects"
  for source in src/{core/*,sync,bcs,async,rt/*,sight/*}/*.c; do
    object=$(basename "$source").o
    if [[ $name == *time_t* ]] && is_the_same "$source"; then
      cp "$scratch/before/$object" "$scratch/objects"
    else
      compile "${warnings[@]}" -c "$source" -o "$scratch/objects/$object"
    fi
  done
  for source in $([[ $name == *time_t* ]] || grep -LE '^#include (<liburing|"uring\.h"|<zookeeper|"zookeeper)' src/{io,cluster}/*/*.c); do
    if [[ $name == *clang* ]] || ! whole; then
      compile "${warnings[@]}" -fsyntax-only "$source"
    else
      compile "${warnings[@]}" -c "$source" -o /dev/null
    fi
  done
  program tests/compile/program.c
  program "$scratch/sleep.c"
  cat "$scratch/log"
  if [[ $name == *time_t* ]]; then # differs from the one before in what the sleeping has looked at
    echo "$name: runs"
    return
  fi
  for source in "$harness"/{harness,inspector,scenarios,ways,fifo}.c "$harness"/load/*.c; do
    compile -c "$source" -o "$scratch/objects/stress_$(basename "$source").o"
  done
  for source in sync/channel rt/task; do program "$harness/${source}_stress.c"; done
  echo "$name: runs"
  before=("${compiler[@]}")
}

# gcc-multilib is not installed beside cross compilers, and the kernel's headers are then elsewhere
asm=(-idirafter "/usr/include/$(gcc -print-multiarch 2> /dev/null || true)")
platform musl musl-gcc
platform 'x86, 32 bits' gcc -m32 "${asm[@]}" -Wno-psabi
platform 'x86, 32 bits, time_t of 64' gcc -m32 "${asm[@]}" -Wno-psabi -D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64
platform 'x86, 32 bits, clang' clang -m32 "${asm[@]}"
((ran > 0)) || exit 77

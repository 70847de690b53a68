#!/usr/bin/env bash
# Every operation on an atomic that orders something carries a label such as U1 in a comment on its
# line or on the one before, and every label has another end: another line of the file, or of
# another file of its group, that names it. So does every label that such a comment pairs it with. And
# every operation that there is goes by VOLT_AT_().
set -euo pipefail
cd "$(dirname "$0")/../.."

shopt -s nullglob

# The ordering operations are those that atomic.h defines, and what the variants add to it.
operations=$(sed -nE 's/^#define (volt_[a-z0-9_]+_(acquire|release|acq_rel|seq_cst))\(.*/\1/p' \
  include/volt/detail/atomic.h bench/variants/atomic*.h | paste -sd '|')
[[ -n $operations ]] || { echo "atomic.h defines no ordering operation" >&2; exit 1; }

check() { # <about> <file>...: what is wrong in the files that match; others may be the other end
  awk -v about="$1" -v operations="$operations" '
    function comment_of(text) { return match(text, /\/\*.*/) ? substr(text, RSTART) : "" }
    function labels_of(text, found) { # leaves them in found[1..]; returns how many
      split("", found)
      count = 0
      while (match(text, /(^|[^A-Za-z0-9_])[A-Z][0-9]+([^A-Za-z0-9_]|$)/)) {
        label = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH - 1)
        gsub(/[^A-Z0-9]/, "", label)
        found[++count] = label
      }
      return count
    }
    FNR == 1 { previous = "" }
    {
      n = labels_of($0, here)
      for (i = 1; i <= n; i++) { # count the lines that name a label, once each
        if (seen[here[i]] != FILENAME ":" FNR) named[here[i]]++
        seen[here[i]] = FILENAME ":" FNR
      }
      if (FILENAME ~ about && $0 ~ "(^|[^a-z0-9_])(" operations ")\\(" && $0 !~ /^#define/) {
        n = labels_of(comment_of($0), here)
        if (n == 0) n = labels_of(comment_of(previous), here)
        if (n == 0) print FILENAME ":" FNR ": no label: " $0
        for (i = 1; i <= n; i++) used[here[i]] = FILENAME ":" FNR
      }
      previous = $0
    }
    END {
      for (label in used)
        if (named[label] < 2) print used[label] ": " label " has no other end"
    }' "${@:2}"
}

# the check can fail: no label, a label without another end, a pair that is not there
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
must_fail() { # <what is wrong> <source>
  printf '%s\n' "$2" > "$scratch/broken.c"
  [[ -n $(check . "$scratch/broken.c") ]] || { echo "the check misses: $1" >&2; exit 1; }
}
must_fail "no label" 'x = volt_load_acquire(&w);'
must_fail "one end" 'x = volt_load_acquire(&w); /* A1 */'
must_fail "a pair that is not there" $' * A1: see below\nx = volt_load_acquire(&w); /* A1: pairs B1 */'
printf '%s\n' ' * B1 (release) -> A1 (acquire)' 'x = volt_load_acquire(&w); /* A1 */' \
  '/* B1: the last access */' 'volt_cas_weak_release(&w, &seen, 1);' > "$scratch/right.c"
[[ -z $(check . "$scratch/right.c") ]] || { echo "the check refuses what is right" >&2; exit 1; }

# every operation goes by VOLT_AT_() of atomic.h, or the chaos build does not see it
past() { grep -nHE '\(\(p\)[,)]' "$@" || true; }
echo '#define volt_f(p) VOLT_ATOMIC_FN_(f)((p), 1)' > "$scratch/past.h"
[[ -n $(past "$scratch/past.h") ]] || { echo "the check misses: past VOLT_AT_()" >&2; exit 1; }

wrong=$(
  past include/volt/detail/atomic.h bench/variants/atomic*.h
  check . include/volt/{,detail/}*.h src/{core,sync,bcs,async}/*.[ch]
  check '^src/rt/' include/volt/{,detail/}*.h src/rt/*.[ch]
  for variant in bench/variants/*.c; do check '\.c$' "$variant" bench/variants/*.h; done
  check '\.h$' bench/variants/*.[ch]
)
if [[ -n $wrong ]]; then
  printf '%s\n' "$wrong" >&2
  exit 1
fi
echo "every order has its label, at both ends"

#!/bin/bash
# onequeue_test.sh PROGRAM [REFUSED]: compares the order in which the waiters were served with the one
# in which they arrived, by what the program prints of both.
#
# Prints a line per check: ok or FAILED. Exit code 0 if none failed. Nothing here depends on timing:
# the program sees each waiter in the queue before it goes on.
set -u
export LC_ALL=C

[ $# -ge 1 ] || { echo "usage: $0 PROGRAM [REFUSED]" >&2; exit 2; }
onequeue=$(realpath "$1")
# shellcheck source=apps/common/tests/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tests/checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# run ARGUMENTS...: run it to its end; leaves $code, and the files out and err.
run() {
  timeout -k 5 100 "$onequeue" "$@" >out 2>err
  code=$?
}

# said ROUND WHAT: what it printed there, a word a line.
said() { sed -n "s/^round $1: $2: //p" out | tr ' ' '\n'; }

everybody() { printf '%s\n' {loop,task,thread}{1..4}; }

# Whoever did not leave was served, in the order of the queue.
served_in_order() { cmp -s <(said "$1" queued | grep -vx "$(said "$1" left)") <(said "$1" served); }

all_arrived() { said "$1" queued | sort | cmp -s - <(everybody); }

# How often somebody of another kind comes next: sorted by kind, it would be twice.
is_mixed() { [ "$(said "$1" queued | tr -d 0-9 | uniq | wc -l)" -gt 3 ]; }

test_order() {
  local rounds=$1 seed=$2 round arrived=0 mixed=0 left=0 answered=0 ordered=0
  run "$rounds" "$seed"
  expect 0 "$rounds rounds with seed $seed"
  check "it says so" grep -qx "in the order of arrival: $rounds of $rounds rounds" out
  for ((round = 1; round <= rounds; round++)); do
    all_arrived $round && arrived=$((arrived + 1))
    is_mixed $round && mixed=$((mixed + 1))
    said $round left | grep -x 'loop[1-4]' > /dev/null && left=$((left + 1))
    [ "$(said $round pongs)" -eq 3 ] && answered=$((answered + 1))
    served_in_order $round && ordered=$((ordered + 1))
  done
  check "in each, four of each kind arrive" [ $arrived -eq "$rounds" ]
  check "mixed" [ $mixed -eq "$rounds" ]
  check "a client of the loop leaves" [ $left -eq "$rounds" ]
  check "the others are answered while they wait" [ $answered -eq "$rounds" ]
  check "and all others are served in the order of arrival" [ $ordered -eq "$rounds" ]
}

# The order is another one each time, and the same for the same seed.
test_seed() {
  local other
  run 5 3
  check "each round has an order of its own" \
    [ "$(grep queued out | cut -d: -f3 | sort -u | wc -l)" -eq 5 ]
  cp out first
  for other in "3 0" "4 1"; do
    run 5 "${other% *}"
    cmp -s first out
    check "seed ${other% *} after seed 3" [ $? -eq "${other#* }" ]
  done
}

test_usage() {
  local wrong
  for wrong in 0 x -1 1001 "1 0" "1 x" "1 1 1"; do
    # shellcheck disable=SC2086 # several arguments in one word
    run $wrong
    expect 2 "wrong usage: $wrong"
    check "is explained" [ "$(grep -c '^usage: onequeue ' err) $(wc -c <out)" = "1 0" ]
  done
}

test_usage
test_order 3 1
test_order 20 2
test_order 20 1234567
test_seed

[ $failures -eq 0 ] || echo "$failures checks failed"
[ $failures -eq 0 ]

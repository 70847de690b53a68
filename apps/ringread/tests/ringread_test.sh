#!/bin/bash
# ringread_test.sh PROGRAM REFUSED: holds ringread against pread, which it calls itself, and checks
# what it reports. REFUSED runs another program without a system call: here, without io_uring.
#
# Prints a line per check: ok, FAILED or skipped with the reason. Exit code 0 if none failed, 77 if
# there is no io_uring here. Nothing depends on timing: where the program has to be caught at work
# it has work for hours, and the test looks until it sees it there.
set -u
export LC_ALL=C

[ $# -eq 2 ] || { echo "usage: $0 PROGRAM REFUSED" >&2; exit 2; }
ringread=$(realpath "$1")
refused=$(realpath "$2")
# shellcheck source=apps/common/tests/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tests/checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# run ARGUMENTS...: run it to its end; leaves $code, and the files out and err.
run() {
  timeout -k 5 100 "$ringread" "$@" >out 2>err
  code=$?
}

# wait_until COMMAND...: for at most a minute.
wait_until() {
  local end=$((SECONDS + 60))
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}

# number PATTERN: what the line of the report that begins so has at the place of the @.
number() { sed -n "s|^${1/@/\\([0-9.]*\\)}.*\$|\\1|p" out; }

# holds EXPRESSION...: arithmetic with fractions.
holds() { awk "BEGIN { exit !($*) }"; }

make_files() {
  head -c 20000123 /dev/urandom >big
  head -c 70001 /dev/urandom >middle
  head -c 4096 /dev/urandom >block
  head -c 5 /dev/urandom >tiny
}

# check_report OPERATIONS THREADS SUBMISSION
check_report() {
  check "it reports $1 operations" [ "$(number '@ operations, ')" = "$1" ]
  local least most submit all
  least=$(number '.*at least @, at most')
  most=$(number '.*at most @')
  check "and how they were shared" \
    [ $((least * $2)) -le "$1" -a $((most * $2)) -ge "$1" -a "$least" -le "$most" ]
  submit=$(number '.*: @ to submit')
  all=$(number '.*; @ in all')
  check "system calls to submit are among all of them" [ "$submit" -ge 1 -a "$submit" -le "$all" ]
  if [ "$3" = bcs ]; then
    check "there is at most one for each operation" [ "$submit" -le "$1" ]
  else
    check "there is one for each operation" [ "$submit" -eq "$1" ]
  fi
  check "and the rates are what follows" holds \
    "($(number '.*submit, @ per') - $submit / $1) ^ 2 < 1e-6" \
    "&& ($(number '.*all, @ per') - $all / $1) ^ 2 < 1e-6"
}

test_reads() {
  local submission threads operations=20000
  for submission in bcs mutex; do
    for threads in 1 4 8; do
      run --submit $submission --threads $threads --operations $operations --verify \
        big middle block tiny
      expect 0 "$submission: $threads threads read what pread reads"
      check "which is said" grep -qx "verify: pread agrees on all $operations blocks" out
      check_report $operations $threads $submission
    done
  done
}

# The same seed reads the same blocks, however they are shared: their sizes add up to the same.
test_seed() {
  local sums=() seed
  for seed in "7 --threads 1" "7 --threads 8" "8 --threads 8"; do
    # shellcheck disable=SC2086 # two options in one word
    run --block 3333 --operations 5000 --seed $seed big middle tiny
    expect 0 "reads with seed $seed"
    sums+=("$(number '.* operations, @ bytes')")
  done
  check "the same seed reads the same" [ "${sums[0]}" = "${sums[1]}" ]
  check "another seed does not" [ "${sums[0]}" != "${sums[2]}" ]
}

# A ring of one entry is full after every operation, and its CQ has room for two: eight threads wait
# for that, and every batch is cut.
test_small_ring() {
  local submission
  for submission in bcs mutex; do
    run --entries 1 --submit $submission --threads 8 --operations 20000 --verify big middle
    expect 0 "$submission: a ring with one entry serves 8 threads"
    check_report 20000 8 $submission
  done
}

# Past the page cache an operation takes its time, and the reaper has to sleep for it.
test_direct() {
  run --direct --threads 1 --operations 1 big
  if [ $code -eq 1 ] && grep -q 'Invalid argument' err; then
    skipped "reads past the page cache" "this file system has no O_DIRECT"
    return
  fi
  local submission
  for submission in bcs mutex; do
    run --direct --submit $submission --threads 8 --operations 5000 --verify big middle tiny
    expect 0 "$submission: 8 threads read past the page cache"
    check "which is verified" grep -qx 'verify: pread agrees on all 5000 blocks' out
    check_report 5000 8 $submission
  done
}

test_errors() {
  run --operations 10 big missing tiny
  expect 1 "a missing file is an error"
  check "with its name and reason" grep -qx 'ringread: missing: No such file or directory' err
  check "and nothing is read" [ ! -s out ]
  : >empty
  mkdir directory
  mkfifo fifo
  run --operations 10 empty directory fifo
  expect 1 "what has no blocks is an error"
  check "an empty file" grep -qx 'ringread: empty: is empty' err
  check "a directory" grep -qx 'ringread: directory: is no regular file' err
  check "a fifo" grep -qx 'ringread: fifo: is no regular file' err
}

# A file that has less than its size says, from the start.
test_short_read() {
  local claims=/sys/kernel/mm/transparent_hugepage/enabled # says a page, and has a line
  if [ ! -r $claims ]; then
    skipped "a file that is shorter than it says" "there is no $claims"
    return
  fi
  local submission
  for submission in bcs mutex; do
    run --submit $submission --operations 1000 --threads 4 $claims
    expect 1 "$submission: a file that is shorter than it says is an error"
    check "with the place and the sizes" \
      grep -Eq "^ringread: $claims: at 0: short read: [0-9]+ of 4096 bytes$" err
    check "and is not counted as read" [ "$(number '@ operations, ')" -eq 0 ]
  done
}

gone() { ! kill -0 "$1"; }

# reads PID: it has begun; it has the file open twice.
reads() { [ "$(find "/proc/$1/fd" -lname '*/shrinking' | wc -l)" -eq 2 ]; }

test_truncated() {
  local submission pid
  for submission in bcs mutex; do
    head -c 4000000 /dev/urandom >shrinking
    "$ringread" --submit $submission --threads 4 --operations 1000000000000 shrinking >out 2>err &
    pid=$!
    check "it begins to read" wait_until reads $pid
    truncate -s 5000 shrinking
    wait_until gone $pid || kill -KILL $pid
    wait $pid
    code=$?
    expect 1 "$submission: a file that is truncated meanwhile is an error"
    check "with the place and the sizes" \
      grep -Eq '^ringread: shrinking: at [0-9]+: short read: [0-9]+ of [0-9]+ bytes$' err
    check "and what was read until then is reported" [ -n "$(number '@ operations, ')" ]
  done
}

test_refused() {
  local error text
  for error in "1 Operation not permitted" "13 Permission denied" "38 Function not implemented"; do
    text=${error#* }
    "$refused" 425 "${error%% *}" "$ringread" --operations 10 big >out 2>err
    code=$?
    if grep -q '^refused: ' err; then
      skipped "io_uring is refused: $text" "there is no seccomp"
      continue
    fi
    expect 77 "io_uring is refused: $text"
    check "which is said" grep -qx "ringread: skipped: io_uring is not to be had here: $text" err
    check "and nothing else" [ ! -s out ]
  done
  "$refused" 425 12 "$ringread" --operations 10 big >out 2>err
  code=$?
  if ! grep -q '^refused: ' err; then
    expect 1 "another error of io_uring is an error"
    check "with its reason" grep -qx 'ringread: io_uring: Cannot allocate memory' err
  fi
}

test_usage() {
  run --help
  expect 0 "--help"
  check "prints to standard output" grep -q '^usage: ringread ' out
  local wrong
  for wrong in --unknown --threads=0 --threads=x --threads=-1 --threads= --threads --operations=0 \
    --block=0 --block=99999999999999999999 --submit=neither --submit --entries=0 --seed=-1 \
    "--direct --block=1000" --verify=yes; do
    # shellcheck disable=SC2086 # two options in one word
    run big $wrong
    expect 2 "wrong usage: $wrong"
    check "is explained" [ "$(grep -c '^usage: ringread ' err) $(wc -c <out)" = "1 0" ]
  done
  run
  expect 2 "no file is wrong usage"
}

make_files
test_usage
test_refused
test_errors
run --operations 1 tiny
if [ $code -eq 77 ]; then
  cat err
  [ $failures -eq 0 ] && exit 77
  exit 1
fi
test_reads
test_seed
test_small_ring
test_direct
test_short_read
test_truncated

[ $failures -eq 0 ] || echo "$failures checks failed"
[ $failures -eq 0 ]

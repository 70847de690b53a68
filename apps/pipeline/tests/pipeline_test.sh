#!/bin/bash
# pipeline_test.sh PROGRAM [REFUSED]: holds pipeline against sha256sum, and against treesum beside it.
#
# Prints a line per check: ok, FAILED or skipped with the reason. Exit code 0 if none failed.
# Nothing here depends on timing: where the program has to be caught at work, it works on a sparse
# file that takes minutes, and the test looks until it sees it there.
set -u
export LC_ALL=C
unset TERM

[ $# -ge 1 ] || { echo "usage: $0 PROGRAM [REFUSED]" >&2; exit 2; }
pipeline=$(realpath "$1")
treesum=$(dirname "$pipeline")/treesum
# shellcheck source=apps/common/tests/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tests/checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# run ARGUMENTS...: run it to its end; leaves $code, and the files out and err.
run() {
  timeout -k 5 120 "$pipeline" "$@" >out 2>err
  code=$?
}

reference() { find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum --; }

same_as_reference() { reference "$@" | cmp -s - out; }

same_as_treesum() { "$treesum" "$@" 2>/dev/null | cmp -s - out; }

# wait_until COMMAND...: for at most a minute.
wait_until() {
  local end=$((SECONDS + 60))
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}

# reads PID N: the process has N of the files huge... open.
reads() { [ "$(find "/proc/$1/fd" -lname '*/huge*' | wc -l)" -eq "$2" ]; }

gone() { ! kill -0 "$1"; }

make_tree() {
  mkdir -p tree/sub/deeper tree/empty_directory
  echo one >tree/one
  : >tree/sub/empty
  head -c 3000000 /dev/urandom >tree/sub/deeper/big
  head -c 131072 /dev/urandom >tree/sub/deeper/one_block
  echo newline >$'tree/new\nline'
  echo backslash >'tree/back\slash'
  ln tree/one tree/sub/hard_link
  ln -s .. tree/sub/loop
  local i
  for i in {1..500}; do echo "$i" >"tree/sub/deeper/f$i"; done
}

test_list() {
  local one
  for one in "" "-r 1 -j 1 -c 1 -b 1 -f 1" "-r 8 -j 3 -c 1 -b 2 -f 3" "-r 2 -j 8 -c 64 -b 4 -f 200"; do
    # shellcheck disable=SC2086 # several options
    run $one tree
    expect 0 "sums a tree${one:+ with }$one"
    check "the list is what sha256sum prints" same_as_reference tree
  done
  check "the list is what treesum prints" same_as_treesum tree
  check "which is reported" grep -Eq '^pipeline: 507 files, [0-9]+ bytes, ' err
  run tree/sub tree/one tree/sub/deeper
  expect 0 "sums several roots, one inside another, and a file"
  check "the list is what treesum prints, again" same_as_treesum tree/sub tree/one tree/sub/deeper
  run tree/empty_directory
  expect 0 "an empty tree is no error"
  check "and gives an empty list" [ ! -s out ]
  run -o tree/list tree
  expect 0 "a list inside the tree is no error"
  check "and does not contain itself" [ "$(grep -c tree/list tree/list)" -eq 0 ]
  rm tree/list
}

test_errors() {
  run tree/missing tree/one
  expect 1 "a missing root is an error"
  check "with its name and reason" grep -q '^pipeline: tree/missing: No such file or directory$' err
  check "and the rest is summed" same_as_reference tree/one
  run --readers 0 tree
  expect 2 "no readers is wrong usage"
  check "and is said" grep -q "^pipeline: --readers wants a number from 1 to 256, not '0'$" err
}

# One file shrinks while it is read, others vanish behind it.
test_changes() {
  truncate -s 200G huge
  "$pipeline" -r 2 huge tree >out 2>err &
  local pid=$!
  wait_until reads $pid 1
  truncate -s 0 huge
  wait $pid
  code=$?
  expect 1 "a file that shrinks is an error"
  check "with its name" grep -q '^pipeline: huge: changed while it was read$' err
  check "and the rest is summed" same_as_reference tree
  rm huge
}

# stop SIGNAL CODE FILES OPTIONS...: while the huge files are read and all else waits for them.
stop() {
  local signal=$1 wanted=$2 files=$3 pid
  shift 3
  "$pipeline" "$@" tree/one huge* tree >out 2>err &
  pid=$!
  wait_until reads $pid "$files"
  kill -"$signal" $pid
  wait_until gone $pid || kill -KILL $pid
  wait $pid
  code=$?
  expect "$wanted" "SIG$signal ends it with $*"
  check "it says so" grep -q '^pipeline: stopped by .*: the list is incomplete$' err
  check "what is listed is right" [ -z "$(sort out | comm -23 - whole)" ]
}

test_signals() {
  truncate -s 200G huge1 huge2 huge3
  reference tree | sort >whole
  stop INT 130 3 -r 3 -j 2 -c 1 -b 1
  stop TERM 143 1 -r 1 -j 1 -c 1 -b 64 -f 1
  stop INT 130 2 -r 2 -j 4 -c 8 -b 8
}

cd "$scratch" || exit 1
make_tree
test_list
test_errors
test_changes
test_signals

[ $failures -eq 0 ] || { echo "$failures checks failed"; exit 1; }
echo "all passed"

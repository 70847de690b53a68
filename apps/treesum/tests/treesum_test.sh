#!/bin/bash
# treesum_test.sh PROGRAM REFUSED: holds treesum against find, sort and sha256sum; all of it with
# tasks, then with threads. REFUSED runs another program without a system call: here, without openat2.
#
# Prints a line per check: ok, FAILED or skipped with the reason. Exit code 0 if none failed.
# Nothing here depends on timing: where the program has to be caught at work, it works on a sparse
# file that takes minutes, and the test looks until it sees it there.
set -u
export LC_ALL=C
unset TERM

[ $# -eq 2 ] || { echo "usage: $0 PROGRAM REFUSED" >&2; exit 2; }
treesum=$(realpath "$1")
refused=$(realpath "$2")
# shellcheck source=apps/common/tests/checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tests/checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The form under test: what chooses it, and the option that says how many files at once.
form=() at_once=--jobs
# What it runs in, if anything.
without=()

# run ARGUMENTS...: run it to its end; leaves $code, and the files out and err.
run() {
  timeout -k 5 120 "${without[@]}" "$treesum" "${form[@]}" "$@" >out 2>err
  code=$?
}

# The list that treesum must print for these roots.
reference() { find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum --; }

same_as_reference() { reference "$@" | cmp -s - out; }

# What is listed is in these roots, with its right sum; it need not be all of them: tasks are
# cancelled one after the other, and who is next gets what the first has given back.
listed_are() { [ -z "$(reference "$@" | sort | comm -13 - <(sort out))" ]; }

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

# The greatest "open at once" of the last run.
most_open() { sed -n 's/^treesum: open files: at most \([0-9]*\) at once, .*/\1/p' err; }

make_tree() {
  mkdir -p tree/sub/deeper "tree/with space" tree/empty_directory
  echo one >tree/one
  echo two >tree/sub/two
  : >tree/sub/empty
  head -c 3000000 /dev/urandom >tree/sub/deeper/big
  head -c 131072 /dev/urandom >tree/sub/deeper/one_buffer
  echo spaces >"tree/with space/a file"
  echo newline >$'tree/new\nline'
  echo backslash >'tree/back\slash'
  echo both >$'tree/\\both\n'
  echo return >$'tree/carriage\rreturn'
  echo bytes >$'tree/\xff\xfe'
  echo dash >tree/-v
  ln tree/one tree/sub/hard_link
  ln -s .. tree/sub/loop
  ln -s nowhere tree/dangling
  local i
  for i in {1..500}; do echo "$i" >"tree/sub/deeper/f$i"; done
}

test_list() {
  local count
  for count in 1 8; do
    run $at_once $count tree
    expect 0 "sums a tree, $count files at once"
    check "the list is what sha256sum prints, with $at_once $count" same_as_reference tree
    check "which is reported" grep -Eq "^treesum: 51[0-9] files, .*, $count ${at_once#--}$" err
  done
  run $at_once 1 tree/sub tree/one tree/sub/deeper
  expect 0 "sums several roots, one inside another, and a file"
  check "a file named twice is listed twice" same_as_reference tree/sub tree/one tree/sub/deeper
  check "and is read once" grep -q ', 503 files with a further name' err
  check "symbolic links are counted" grep -q ', 1 symbolic links not followed' err
  run tree/
  check "a root may end in a slash" same_as_reference tree/
  (cd tree && "$treesum" "${form[@]}" . >../out 2>../err) &&
    (cd tree && reference . | cmp -s - ../out)
  check "the current directory may be the root" [ $? -eq 0 ]
  run tree/empty_directory
  expect 0 "an empty tree is no error"
  check "and gives an empty list" [ ! -s out ]
  run -o list tree
  mv list out
  check "--output writes the list to a file" same_as_reference tree
}

# A path longer than PATH_MAX, which no single system call takes. The names must be found again by
# descending as well.
test_deep_tree() {
  local name i depth=25
  name=$(printf 'd%.0s' {1..250})
  (
    for ((i = 0; i < depth; i++)); do
      mkdir "$name" && cd -P "$name" || exit
    done
    echo deep >file
  )
  run "$name"
  expect 0 "sums a file below a path of $((depth * 251)) bytes"
  check "with the right sum" [ "$(head -c 64 out)" = "$(echo deep | sha256sum | head -c 64)" ]
  check "under its whole name" [ "$(wc -c <out)" -eq $((64 + 2 + depth * 251 + 5)) ]
  rm -rf "$name"
}

test_own_list() {
  mkdir own
  echo a >own/a
  (cd own && "$treesum" "${form[@]}" -v -o SUMS . 2>../err)
  check "a list inside the tree is no error" [ $? -eq 0 ]
  check "and does not contain itself" [ "$(wc -l <own/SUMS)" -eq 1 ]
  check "which is said" grep -q '^treesum: ./SUMS: is the list itself: left out$' err
}

test_verify() {
  run --verify tree
  expect 0 "--verify succeeds"
  check "and says so" grep -q '^treesum: verify: sha256sum agrees on all 51[0-9] files$' err
  check "and does not change the list" same_as_reference tree

  mkdir bin
  printf '#!/bin/sh\necho more >>tree/one\nPATH=%q exec sha256sum "$@"\n' "$PATH" >bin/sha256sum
  chmod +x bin/sha256sum
  PATH=$PWD/bin:$PATH run --verify tree
  expect 1 "--verify fails if a file changes before it is checked"
  check "and says which" grep -q '^tree/one: FAILED$' err
  check "which stays out of the list" [ "$(grep -c FAILED out)" -eq 0 ]

  printf '#!/bin/sh\nexit 7\n' >bin/sha256sum
  PATH=$PWD/bin:$PATH run --verify tree
  expect 7 "the exit code of sha256sum is passed on"
}

test_without_sha256sum() {
  (PATH=$PWD/nowhere "$treesum" "${form[@]}" --verify tree >out 2>err)
  code=$?
  expect 127 "--verify without sha256sum fails"
  check "and says so" grep -q '^treesum: verify: sha256sum could not be run$' err
}

# The descriptor limit is the strictest witness: one file more than allowed, and open() fails.
test_bound() {
  local bound
  for bound in 1 2 16; do
    run --open-files $bound $at_once 8 tree
    expect 0 "sums a tree with $bound open files allowed"
    check "at most $bound were open" [ "$(most_open)" -ge 1 -a "$(most_open)" -le $bound ]
    check "waits are reported" grep -Eq \
      '^treesum: waits for an open file: [0-9]+ of [0-9]+, total .* p50 .* p99 .* max .* s$' err
    (
      for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        [ "$fd" -le 2 ] || eval "exec $fd>&-"
      done
      ulimit -n $((3 + bound))
      "$treesum" "${form[@]}" --open-files $bound $at_once 8 tree >out 2>err
    )
    code=$?
    if grep -Eq 'error while loading shared libraries|^/bin/sh: ' err; then # or what emulates it
      skipped "no more than $bound descriptors are used" "the loader needs more"
    else
      expect 0 "no more than $bound descriptors are used"
      check "with the same list" same_as_reference tree
    fi
  done
}

test_errors() {
  run tree/missing tree/one
  expect 1 "a missing root is an error"
  check "with its name and reason" grep -q '^treesum: tree/missing: No such file or directory$' err
  check "and the rest is summed" same_as_reference tree/one
  check "it is counted" grep -q '^treesum: 1 errors, ' err
  run $'tree/no\nsuch'
  check "a newline in a name is escaped in messages" grep -q '^treesum: tree/no\\012such: ' err
  run tree/sub/loop
  expect 1 "a symbolic link as root is an error"

  mkdir special
  echo a >special/a
  mkfifo special/fifo
  run special
  expect 1 "a special file is an error"
  check "with its kind" grep -q '^treesum: special/fifo: is a fifo: left out$' err
  check "and the rest is summed" same_as_reference special
  run --verify special
  expect 1 "an error remains one if the rest is verified"
}

test_unreadable() {
  local as=()
  if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
    chmod 755 . ..
    if ! "${as[@]}" "$treesum" "${form[@]}" --help >/dev/null 2>&1; then
      skipped "unreadable files" "root reads everything, and nobody else can run the program"
      return
    fi
  fi
  mkdir -p locked/directory
  echo a >locked/a
  echo b >locked/b
  echo c >locked/directory/c
  chmod 755 locked
  chmod 644 locked/a
  chmod 000 locked/b locked/directory
  "${as[@]}" "$treesum" "${form[@]}" locked >out 2>err
  code=$?
  expect 1 "unreadable files are an error"
  check "a file" grep -q '^treesum: locked/b: Permission denied$' err
  check "a directory" grep -q '^treesum: locked/directory: Permission denied$' err
  check "both are counted, the rest is summed" \
    [ "$(grep -c '^treesum: 2 errors, ' err) $(wc -l <out)" = "1 1" ]
  chmod 755 locked/b locked/directory
}

# start ARGUMENTS...: run it in the background; leaves $pid.
start() {
  "${without[@]}" "$treesum" "${form[@]}" "$@" >out 2>err &
  pid=$!
}

gone() { ! kill -0 "$1"; }

# Wait for the started one; leaves $code. It has failed if it takes longer than a minute.
finish() {
  local ended=0
  wait_until gone $pid || ended=$?
  [ $ended -eq 0 ] || kill -KILL $pid
  wait $pid
  code=$?
  check "it ends in time" [ $ended -eq 0 ]
}

# One file keeps it busy; the walker finds the rest, until it has to wait. Then a file vanishes, and
# the one that is being read shrinks.
test_changes() {
  mkdir changing
  local i
  for i in {1..600}; do echo "$i" >changing/f"$i"; done
  truncate -s 200G huge
  start $at_once 1 huge changing
  check "lines on standard error show the progress" \
    wait_until grep -q '^treesum: 0/601+ files, ' err
  rm -f changing/f*7
  truncate -s 0 huge
  finish
  expect 1 "vanishing and shrinking files are an error"
  check "a file that shrinks" grep -q '^treesum: huge: changed while it was read$' err
  check "files that vanish" [ "$(grep -c '^treesum: changing/f[0-9]*7: No such file' err)" -eq 60 ]
  check "they are counted" grep -q '^treesum: 61 errors, ' err
  check "the rest is summed" same_as_reference changing
  check "no file is called slow unless it is asked for" [ "$(grep -c -i -e slow -e longer err)" -eq 0 ]
  check "there is at most a line of progress a second" \
    [ "$(grep -c '^treesum: [0-9]*/[0-9]*+\? files' err)" -le $((SECONDS + 1)) ]
}

# While the one job is busy, two directories become symbolic links: one of them has been read, and its
# files wait to be opened; the other has not. (Each has more files than may wait.) What is behind the
# links has the same names, and is not of the tree.
test_swapped() {
  local side i directory is_link='(Too many levels of symbolic links|Not a directory)'
  for side in tree elsewhere; do
    mkdir -p swapped_$side/{a,b}/deep
    for i in {1..400}; do
      for directory in a a/deep b b/deep; do echo "$side $i" >swapped_$side/$directory/f"$i"; done
    done
  done
  echo stays >swapped_tree/stays
  truncate -s 200G huge
  start $at_once 1 --progress 50 huge swapped_tree
  check "one directory is read, and its files wait" wait_until grep -q '^treesum: 0/402+ files, ' err
  for side in a b; do
    mv swapped_tree/$side swapped_$side
    ln -s ../swapped_elsewhere/$side swapped_tree/$side
  done
  truncate -s 0 huge
  finish
  expect 1 "directories that have become symbolic links are an error"
  check "none of them was followed" [ "$(sed 's/.*  //' out)" = swapped_tree/stays ]
  check "which is said of files" grep -Eq "^treesum: swapped_tree/[ab]/(deep/)?f[0-9]+: $is_link$" err
  check "and of directories" grep -Eq "^treesum: swapped_tree/[ab](/deep)?: $is_link$" err
  rm -rf swapped_* huge
}

# A root whose name leads through a symbolic link is what was asked for; one that is a link is not.
test_links_to_roots() {
  mkdir -p linked/inside/further
  echo a >linked/inside/a
  echo b >linked/inside/further/b
  ln -s linked link
  local root
  for root in link/inside link/inside/ link/../linked link/. linked/../link/inside/further; do
    run "$root"
    expect 0 "a symbolic link may lead to a root: $root"
    check "whose files have the names that were asked for" same_as_reference "$root"
  done
  run "$PWD/link/inside/a" link/inside linked
  expect 0 "also with others"
  check "each under its own" same_as_reference "$PWD/link/inside/a" link/inside linked
}

# Everything about links again, where there is no openat2, or a sandbox forbids it.
test_without_openat2() {
  local error
  for error in '38 Function not implemented' '1 Operation not permitted'; do
    without=("$refused" 437 "${error%% *}")
    run --help
    if [ "$code" -eq 77 ]; then
      skipped "openat2 is refused: ${error#* }" "there is no seccomp"
      break
    fi
    echo "-- openat2 is refused: ${error#* }"
    run tree
    expect 0 "sums a tree"
    check "the list is the same" same_as_reference tree
    test_swapped
    test_links_to_roots
    rm -rf link linked
  done
  without=()
}

test_signals() {
  truncate -s 200G huge1 huge2 huge3
  mkdir many
  local i
  for i in {1..700}; do echo "$i" >many/f"$i"; done

  # Two files are read, two wait for a permit; so does the walker, or it waits for room.
  start $at_once 4 --open-files 2 tree/one huge1 huge2 huge3 many
  wait_until reads $pid 2
  kill -INT $pid
  finish
  expect 130 "Ctrl-C ends it while files and walker wait"
  check "it says so" grep -q '^treesum: stopped by Interrupt: the list is incomplete$' err
  check "what is done is counted" grep -q "^treesum: $(wc -l <out) files, [0-9]* bytes" err
  check "and the waits" grep -Eq '^treesum: waits for an open file: [1-9][0-9]* of ' err

  start $at_once 1 --progress 50 --verify tree/one huge1 many
  wait_until grep -q '^treesum: 1/702+ files, ' err
  kill -TERM $pid
  finish
  expect 143 "SIGTERM ends it while the walker waits for room"
  check "what is done is listed" grep -q '  tree/one$' out
  check "and nothing that is wrong" listed_are tree/one many
  check "nothing is verified then" [ "$(grep -c verify err)" -eq 0 ]
}

# began PID: it is the program, not the shell that is about to become it, which would obey our trap.
began() { local name && read -r name 2>/dev/null <"/proc/$1/comm" && [ "$name" = treesum ]; }

# Ctrl-C at whatever moment, also before the work has begun or when it is done.
test_signal_anywhere() {
  local i spin wrong=0
  run tree
  cp out whole
  sort whole >whole.sorted
  for i in {0..29}; do
    start --open-files 2 $at_once 5 tree
    until began $pid || gone $pid 2>/dev/null; do :; done
    for ((spin = 0; spin < i * 150; spin++)); do :; done
    kill -INT $pid 2>/dev/null
    wait $pid
    code=$?
    [ $code -eq 0 ] && cmp -s out whole && continue
    [ $code -eq 130 ] && [ -z "$(sort out | comm -23 - whole.sorted)" ] && continue
    wrong=$((wrong + 1))
    sed 's/^/  | /' err
  done
  check "Ctrl-C at any moment ends it, and what is listed is right" [ $wrong -eq 0 ]
}

# lines N PATTERN: there are N such lines on standard error, or more. is N PATTERN: just N.
lines() { [ "$(grep -c "^treesum: $2" err)" -ge "$1" ]; }
is() { [ "$(grep -c "^treesum: $2" err)" -eq "$1" ]; }

# The number of files that the report calls slow is that of the lines, and none is there twice.
slow_count_agrees() {
  local count
  count=$(sed -n 's/^treesum: \([0-9]*\) files took longer than [0-9]* ms$/\1/p' err)
  is "${count:-0}" 'slow: ' && [ "$(grep '^treesum: slow: ' err | sort | uniq -d | wc -l)" -eq 0 ]
}

# Files that are still being read when they are named, since they are until we shrink them or stop.
test_slow() {
  local name=$'huge\nsl\ow' passed
  truncate -s 200G "$name"
  start $at_once 2 --progress 50 --slow-after 20 "$name" tree
  check "a slow file is named while it is read" \
    wait_until grep -q '^treesum: slow: huge\\012sl\\134ow (after 20 ms)$' err
  passed=$(grep -c '^treesum: [0-9]*/[0-9]*+\? files' err)
  check "the progress goes on" wait_until lines $((passed + 2)) '[0-9]*/[0-9]*+\? files'
  check "it is read still" reads $pid 1
  truncate -s 0 "$name"
  finish
  expect 1 "a slow file may shrink"
  check "it is named once" is 1 'slow: huge'
  check "slow files are counted" slow_count_agrees
  check "at least that one" is 1 '[1-9][0-9]* files took longer than 20 ms$'
  check "the rest is summed" same_as_reference tree

  # Two have the permits until the end; the others have not been begun.
  start $at_once 4 --open-files 2 --progress 50 --slow-after 20 huge1 huge2 huge3
  check "each slow file is named" wait_until lines 2 'slow: huge[123] (after 20 ms)$'
  check "the progress is shown" wait_until lines 1 '0/'
  kill -INT $pid
  finish
  expect 130 "Ctrl-C ends it while files are slow"
  check "a file that waits to be opened is not slow" is 2 'slow: '
  check "two are counted" is 1 '2 files took longer than 20 ms$'
}

# Timers that expire just when they are cancelled (what a sanitizer looks at), or not at all.
test_slow_or_not() {
  local i wrong=0
  mkdir medium
  for i in {1..100}; do truncate -s $((i * 20))K medium/"$i"; done
  reference medium >medium_sums
  for i in {1..3}; do
    run $at_once 8 --slow-after 1 medium
    [ "$code" -eq 0 ] && cmp -s medium_sums out && slow_count_agrees || wrong=$((wrong + 1))
  done
  check "files that are hardly slow are named at most once, and counted" [ $wrong -eq 0 ]
  run --slow-after 86400000 tree
  expect 0 "sums a tree in which no file takes a day"
  check "and names none" [ "$(grep -c -i -e slow -e longer err)" -eq 0 ]
}

test_usage() {
  run --help
  expect 0 "--help"
  check "prints to standard output" grep -q '^usage: treesum ' out
  local wrong
  for wrong in --unknown $at_once=0 $at_once=x $at_once=-1 $at_once= $at_once \
    --progress=0 --progress=x --slow-after=0 --slow-after=x --slow-after=1.5 --slow-after=99999999999 --slow-after \
    --open-files=0 --open-files=99999999999999999999 --open-files=4x --verify=yes; do
    run "$wrong"
    expect 2 "wrong usage: $wrong"
    check "is explained" [ "$(grep -c '^usage: treesum ' err) $(wc -c <out)" = "1 0" ]
  done
  "$treesum" --jobs 2 --threads 2 tree >out 2>err
  code=$?
  expect 2 "--jobs and --threads together are wrong usage"
  check "which is explained" \
    [ "$(grep -c '^treesum: --jobs and --threads exclude each other' err) $(wc -c <out)" = "1 0" ]
  run -o missing/directory/list tree
  expect 1 "a list that cannot be written is an error"
  if [ -e /dev/full ]; then
    run -o /dev/full tree
    expect 1 "a full disk is an error"
  fi
}

# run_on_terminal TERM: sum the tree with standard error on a terminal of that kind.
run_on_terminal() {
  TERM=$1 SHELL=/bin/sh treesum=$treesum \
    script -qec "\"\$treesum\" ${form[*]} tree >out" /dev/null </dev/null >err 2>&1
  code=$?
}

test_terminal() {
  run tree
  check "there is no bar without a terminal" [ "$(grep -c $'[\r\033]' err)" -eq 0 ]
  if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    skipped "the progress bar" "no script from util-linux"
    return
  fi
  run_on_terminal xterm
  expect 0 "sums a tree on a terminal"
  check "there is a bar" grep -q $'\r\033\\[K\\[[#.]*\\] [0-9]*/[0-9]*+\\? files' err
  check "it is erased before the report" grep -q $'\r\033\\[Ktreesum: [0-9]* files, ' err
  check "and the list is the same" same_as_reference tree
  run_on_terminal dumb
  expect 0 "sums a tree on a dumb terminal"
  check "which gets no bar" [ "$(grep -c $'\033' err)" -eq 0 ]
}

# test_form NAME: everything, in a directory of its own.
test_form() {
  echo "---- with $1"
  mkdir "$scratch/$1" && cd "$scratch/$1" || exit 1
  make_tree
  test_list
  test_deep_tree
  test_own_list
  test_verify
  test_without_sha256sum
  test_bound
  test_errors
  test_unreadable
  test_changes
  test_swapped
  test_links_to_roots
  rm -rf link linked
  test_without_openat2
  test_signals
  test_signal_anywhere
  test_slow
  test_slow_or_not
  test_usage
  test_terminal
}

test_form tasks
form=(--threads 4) at_once=--threads
test_form threads

[ $failures -eq 0 ] || echo "$failures checks failed"
[ $failures -eq 0 ]

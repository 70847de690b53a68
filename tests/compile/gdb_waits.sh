#!/usr/bin/env bash
# gdb's commands for tasks, workers, timers, objects and waiters, in a build for release without debug
# information: on a process and on a core, with symbols and stripped; on a core without the program's
# file, where names that are constants are missing; and on a core that has the pages of that file.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/objects.sh
. tests/compile/said.sh
root=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! command -v gdb > /dev/null || ! gdb -nx -batch -ex 'python print(1)' &> /dev/null; then
  echo 'skipped: there is no gdb with Python'
  exit 77
fi

source=tests/compile/waits_of_core.c
line_of() { grep -nw "LINE: $1" "$source" | cut -d: -f1; } # of the program $source
fetch=waits_of_core.c:$(line_of fetch)
order=waits_of_core.c:$(line_of order)
serve=waits_of_core.c:$(line_of serve)
release_objects
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -fomit-frame-pointer -Iinclude "$source" "$objects"/*.o -pthread -o "$scratch/program"
script=$PWD/tools/volt_gdb.py

fail() {
  cat "$scratch/log" >&2
  echo "gdb_waits.sh: $1" >&2
  exit 1
}

# gdb with the commands, each behind a line "== command". What of its own says of threads is left out.
# The C library's symbols are left out, too: not every machine has them (libc6-dbg).
ask() { # <arguments of gdb>... -- <command>...
  local options=() commands=(-ex "source $script")
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  for command in "$@"; do commands+=(-ex "echo == $command\n" -ex "$command"); done
  (cd "$scratch" && gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set debug-file-directory' "${options[@]}" "${commands[@]}") > "$scratch/log" 2>&1 || true
}

# What the lines behind "== command" say, in this order.
expect() { # <command> <extended regular expression>...
  local command=$1 line is_of=''
  said=()
  while IFS= read -r line; do
    if [[ $line == '== '* ]]; then is_of=$line; fi
    if [[ $is_of == "== $command" ]]; then said+=("$line"); fi
  done < "$scratch/log"
  ((${#said[@]})) || fail "$command was not called"
  said_in_order "${@:2}" || fail "$command: no line /$missed/, or not behind the others"
}

# names: of objects: symbols are there. texts: constants can be read.
check() { # <what was looked into> <names: yes or no> <texts: yes or no> <arguments of gdb>...
  local permits='semaphore 0x[0-9a-f]+' cache='mutex 0x[0-9a-f]+' orders='channel 0x[0-9a-f]+'
  local fiber="'hider'"
  local fetch_at="$fetch fetch_poll" order_at="$order order_step" serve_at="$serve serve_poll"
  local acquire="volt_sem_acquire 2 of" lock='volt_mutex_lock of' recv='volt_chan_recv of'
  local commands=('volt tasks' 'volt tasks --each' 'volt workers' 'volt timers' 'volt fibers'
    'volt tasks --older 1000000' 'volt task 1' 'volt task')
  if [[ $2 == yes ]]; then
    permits="'permits' \\($permits" cache="'cache_lock' \\($cache" orders="'orders' \\($orders"
    commands+=('volt owner cache_lock' 'volt owner permits' 'volt threads' 'volt deadlock' 'volt waiters permits' 'volt waiters cache_lock' 'volt tasks --on cache_lock' 'volt tasks --on hidden' 'volt task hider' 'volt waiters nothing' 'volt owner nothing'
      'volt task wait_for_bell' 'volt bt wait_for_bell' 'volt waiters bell')
  fi
  if [[ $3 == yes ]]; then
    commands+=('volt bt serve_poll' 'volt task serve_poll' 'volt bt fetch_poll')
  fi
  ask "${@:4}" -- "${commands[@]}"
  if [[ $3 == no ]]; then
    fetch_at="line ${fetch#*:} 0x[0-9a-f]+" serve_at="line ${serve#*:} 0x[0-9a-f]+" fiber='0x[0-9a-f]+'
    expect 'volt tasks' "runtime 0x[0-9a-f]+ 'shop': 1 workers, 7 tasks" \
      "^3 tasks wait at $fetch_at: a future with operations at 0x[0-9a-f]+ 2 of semaphore 0x[0-9a-f]+: 0 free, 3 wait" \
      '^  0x[0-9a-f]+ 0x[0-9a-f]+ waits for .*, poll 1$' 'NOTHING CAN WAKE IT: no registration is open' '^7 tasks'
    expect 'volt tasks --each' "$serve_at: a future with operations at" '^7 tasks'
  else
    expect 'volt tasks' "runtime 0x[0-9a-f]+ 'shop': 1 workers, 7 tasks" \
      "^3 tasks wait at $fetch_at: $acquire $permits: 0 free, 3 wait" \
      '^  0x[0-9a-f]+ fetch_poll waits for .*, poll 1$' '^7 tasks'
    expect 'volt tasks' '^1 task waits at its beginning [^ ]+$' 'NOTHING CAN WAKE IT: no registration is open'
    expect 'volt tasks --each' "$fetch_at: $acquire $permits: 0 free, 3 wait.*, 1st in line" \
      "$fetch_at: .*, 2nd in line" "$fetch_at: .*, 3rd in line"
    expect 'volt tasks --each' "^  $serve_at: volt_async" "^    $order_at: volt_select" \
      "^      $recv $orders: 0 of 4 elements, receivers wait, 1 waits.*, 1st in line" \
      '^      volt_timeout, 3[56][0-9][0-9] s left' "^        $lock $cache: locked, 2 wait.*, (1st|2nd) in line"
    expect 'volt task serve_poll' "^task 0x[0-9a-f]+ serve_poll, waits for" "^  $serve_at: volt_async" \
      "^    $order_at: volt_select" "^      $recv $orders"
    expect 'volt bt serve_poll' '^#0   volt_select' "^      $recv" "^        $lock" \
      "^#1   order_step at $order" "^#2   serve_poll at $serve"
    expect 'volt bt fetch_poll' '3 tasks are called fetch_poll'
  fi
  expect 'volt workers' "^runtime 0x[0-9a-f]+ 'shop': 7 tasks, 0 queued for any worker, 0 calls" \
    '^  worker 0.*: sleeps, 0 tasks behind it, [0-9]+ polls'
  expect 'volt timers' "^runtime 0x[0-9a-f]+ 'shop': 1 timers" '^ +in 3[56][0-9][0-9] s  task 0x[0-9a-f]+ '
  expect 'volt fibers' "^ +1  $fiber +shop-w0 +waits in " '^2 fibers'
  expect 'volt tasks --older 1000000' '^0 tasks'
  expect 'volt task 1' 'there is no task 1'
  expect 'volt task' 'which task'
  if [[ $2 == yes ]]; then
    expect 'volt waiters permits' "^'permits' 0x[0-9a-f]+: 3 wait" '^ +1  task 0x[0-9a-f]+ fetch_poll, wants 2' \
      '^ +2  task .* fetch_poll, ' '^ +3  task .* fetch_poll, '
    expect 'volt waiters cache_lock' "^'cache_lock' 0x[0-9a-f]+: 2 wait" '^ +[12]  task 0x[0-9a-f]+ serve_poll'
    expect 'volt waiters cache_lock' '^ +[12]  thread [0-9]+ \(LWP [0-9]+\), wants 1'
    expect 'volt tasks --on cache_lock' '^1 task waits' '^1 tasks'
    expect 'volt tasks --on hidden' '^1 fiber waits' '^1 tasks'
    expect 'volt task hider' "^task 0x[0-9a-f]+ fiber 'hider', waits for" '^  waits in ' '^    volt_sem_acquire 1 of .hidden'
    expect 'volt task wait_for_bell' '^task 0x[0-9a-f]+ fiber wait_for_bell, waits for' '^  waits in ' "^    volt_cond_wait_until of 'bell' \\(cond 0x"
    expect 'volt bt wait_for_bell' "^fiber '', waits in " '^#[0-9]+ .* wait_for_bell'
    expect 'volt waiters bell' "^'bell' 0x[0-9a-f]+: 1 wait" '^ +1  task 0x[0-9a-f]+ fiber wait_for_bell, wants 1'
    expect 'volt waiters nothing' '^there is no object nothing: No symbol'
    expect 'volt owner nothing' '^there is no object nothing: No symbol'
    expect 'volt owner cache_lock' "^'cache_lock' \\(mutex 0x[0-9a-f]+: locked, 2 wait" 'known in builds with VOLT_SIGHT=1'
    expect 'volt owner permits' "^'permits' \\(semaphore 0x[0-9a-f]+: 0 free, 3 wait"
    expect 'volt threads' "^thread [0-9]+ \\(LWP [0-9]+\\) sleeps for .* in volt_mutex_lock of 'cache_lock'" '^1 threads sleep in calls'
    expect 'volt deadlock' 'nothing is known to be unable to go on' 'known in builds with VOLT_SIGHT=1'
  fi
  local queues=
  [[ $2 == no ]] || queues=', 2 queues'
  echo "$1: 7 tasks, a worker, a timer, 2 fibers$queues"
}

# Who holds what is known with VOLT_SIGHT=1. The pretty printers need types: -g.
sight_objects() {
  room_objects sight "${CC:-cc}" -std=c11 -Og -g -DVOLT_SIGHT=1
}

check_printers() {
  sight_objects
  "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O0 -g -DVOLT_SIGHT=1 -Iinclude "$source" "$objects"/*.o -pthread -o "$scratch/debug"
  ask -ex 'break abort' -ex run ./debug -- 'print cache_lock' 'print permits' 'print orders' \
    'frame function main' 'print s->task' 'print s->order.s.future'
  expect 'print cache_lock' '= locked, 2 wait'
  expect 'print permits' '= 0 free, 3 wait'
  expect 'print orders' '= 0 of 4 elements, receivers wait, 1 waits'
  expect 'print s->task' '= .*<serve_poll> at line [0-9]+: spawned, [0-9] registrations'
  expect 'print s->order.s.future' '= .*<select_ops>, object 0x0: waits'
  echo 'pretty printers: a mutex, a semaphore, a channel, a task, a future'
}

check_deadlock() {
  local source=tests/compile/deadlock_of_core.c first second join
  first=deadlock_of_core.c:$(line_of first) second=deadlock_of_core.c:$(line_of second)
  join=deadlock_of_core.c:$(line_of join)
  sight_objects
  "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -DVOLT_SIGHT=1 -Iinclude "$source" "$objects"/*.o -pthread -o "$scratch/deadlock"
  strip --strip-debug "$scratch/deadlock"
  ask -ex run ./deadlock -- 'volt deadlock' 'volt owner left_lock' 'volt owner right_lock' 'volt threads' 'volt owner nobody' 'volt owner kept_lock mutex'
  for lock in left right_lock; do
    expect 'volt deadlock' "^task 0x[0-9a-f]+ locks_poll, waits for" \
      "^  $second locks_poll: volt_mutex_lock of '$lock' \(mutex 0x[0-9a-f]+: locked, [13] waits?\)" \
      "^    '[a-z_]+' is held by task 0x[0-9a-f]+ locks_poll for .*, taken at $first"
  done
  expect 'volt deadlock' "^  $join joins_poll: volt_task_join of task 0x[0-9a-f]+" \
    "^thread [0-9]+ \(LWP [0-9]+\) sleeps in volt_mutex_lock of 'left'" '^5 cannot go on'
  expect 'volt deadlock' "^task 0x[0-9a-f]+ fiber keep, waits for" "volt_mutex_lock of 'left'"
  [[ ${said[*]} != *waits_poll* ]] || fail 'a wait that an unknown party may end is in the circle'
  expect 'volt owner kept_lock mutex' "^  holder: task 0x[0-9a-f]+ fiber keep[, ]"
  expect 'volt owner left_lock' "^'left' \(mutex 0x[0-9a-f]+: locked, 3 wait\)" "^  holder: task 0x.* taken at $first"
  expect 'volt owner right_lock' "^'right_lock' \(mutex" '^  holder: task 0x'
  expect 'volt owner nobody' "^'nobody' \(semaphore 0x[0-9a-f]+: 0 free, 1 waits\)"
  expect 'volt threads' "^thread [0-9]+ \(LWP [0-9]+\) sleeps for .* in volt_mutex_lock of 'left'" '^1 threads sleep in calls'
  echo 'a deadlock of two tasks, with another, a fiber and a thread behind it'
}

# A program that has threads and no runtime: with libvolt-sync alone, and with libvolt-rt.
check_threads() { # <library>: sync or rt
  local source=tests/compile/threads_of_core.c parts=("$objects"/*.o) part flags=()
  if [[ $1 == sync ]]; then
    parts=("$objects"/{core,sync,bcs,async}.o) # by rooms, or by files
    [[ -e ${parts[0]} ]] || parts=()
    for part in src/{core/*,sync,bcs,async}/*.c; do
      part=$objects/${part##*/}.o
      if [[ -e $part ]]; then parts+=("$part"); fi
    done
  else
    flags=(-DWITH_SIGHT)
  fi
  "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 ${2:-} "${flags[@]}" -Iinclude "$source" "${parts[@]}" -pthread -o "$scratch/threads"
  ask -ex run ./threads -- 'volt threads' 'volt waiters slots' 'volt waiters left_lock' 'volt waiters cv' 'volt deadlock' \
    'volt owner left_lock' 'volt owner slots' 'volt tasks' 'volt workers' 'volt fibers' 'volt timers' 'volt task 1'
  expect 'volt threads' "sleeps for .* in volt_mutex_lock of 'right_lock' \(mutex 0x[0-9a-f]+: locked, 1 waits\)"
  expect 'volt threads' "sleeps for .* in volt_mutex_lock of 'left_lock'" '^5 threads sleep in calls'
  expect 'volt threads' "in volt_cond_wait of 'cv' \(cond 0x"
  expect 'volt threads' "in volt_sem_acquire of 'slots' \(semaphore 0x[0-9a-f]+: 0 free, 2 wait\)" \
    "in volt_sem_acquire of 'slots' \(semaphore"
  expect 'volt waiters slots' "^'slots' 0x[0-9a-f]+: 2 wait" '^ +1  thread [0-9]+ \(LWP [0-9]+\), wants 1' '^ +2  thread [0-9]+ '
  expect 'volt waiters left_lock' "^'left_lock' 0x[0-9a-f]+: 1 wait" '^ +1  thread [0-9]+ \(LWP '
  expect 'volt waiters cv' "^'cv' 0x[0-9a-f]+: 1 wait" '^ +1  thread [0-9]+ \(LWP '
  expect 'volt owner slots' "^'slots' \(semaphore 0x[0-9a-f]+: 0 free, 2 wait\)"
  if [[ ${2:-} == *SIGHT* ]]; then
    expect 'volt deadlock' "sleeps in volt_mutex_lock of 'left_lock'" "'left_lock' is held by thread [0-9]+ \(LWP [0-9]+\) for .*, taken at threads_of_core.c:[0-9]+" '^2 cannot go on'
    expect 'volt owner left_lock' '^  holder: thread [0-9]+ \(LWP [0-9]+\)'
  else
    expect 'volt deadlock' 'nothing is known to be unable to go on' 'known in builds with VOLT_SIGHT=1'
    expect 'volt owner left_lock' 'known in builds with VOLT_SIGHT=1'
  fi
  for part in tasks workers fibers timers; do
    expect "volt $part" '^this program has no runtime now, so it has no tasks; volt threads lists threads that wait'
  done
  expect 'volt task 1' 'there is no task 1'
  echo "5 threads without a runtime, with libvolt-$1 ${2:-}"
}

check_all_threads() {
  release_objects
  check_threads sync
  check_threads rt
  sight_objects
  check_threads sync -DVOLT_SIGHT=1
  check_threads rt -DVOLT_SIGHT=1
}

# Coroutines, where the compiler says where they are.
check_coroutines() {
  local source=tests/compile/trail_of_core.cpp
  command -v g++ > /dev/null || return 0
  release_objects
  g++ -std=c++20 -O2 -Iinclude "$source" "$objects"/*.o -pthread -o "$scratch/trail"
  ask -ex run ./trail -- 'volt tasks --each' 'volt bt outer'
  expect 'volt tasks --each' "^  trail_of_core.cpp:$(line_of outer) outer: co_await" \
    "^    trail_of_core.cpp:$(line_of inner) inner: volt_sem_acquire 1 of 'never' \(semaphore .*, 1st in line"
  expect 'volt bt outer' '^#0   volt_sem_acquire 1 of' "^#1   inner at trail_of_core.cpp:$(line_of inner)" \
    "^#2   outer at trail_of_core.cpp:$(line_of outer)"
  echo 'two coroutines, of which one awaits the other'
}

cd "$scratch"
if gdb -nx -batch -ex run -ex 'print 1' ./program &> log && ! grep -q 'ptrace: ' log; then
  check 'a process' yes yes -ex run ./program
  (cd "$root" && check_printers && check_deadlock && check_all_threads && check_coroutines)
  strip --strip-all -o stripped program
  check 'a stripped process' no yes -ex run ./stripped
else
  grep -q 'ptrace: ' log || fail 'gdb has failed'
  echo 'a process: skipped: ptrace is not allowed here'
fi

pattern=$(< /proc/sys/kernel/core_pattern)
if [[ $pattern == [\|/]* ]] || ! (ulimit -c unlimited) 2> /dev/null; then
  echo "a core: skipped: the system does not leave it here ($pattern)"
  exit
fi

# Abort, and keep the core. filter: which pages are in it.
core_of() { # <program> <name of the core> [filter]
  { (echo "${3:-0x33}" > /proc/self/coredump_filter && ulimit -c unlimited && exec "./$1") || true; } 2> /dev/null
  local core
  core=$(find . -name "${pattern%%%*}*" ! -name '*.core' ! -name program ! -name stripped -type f | head -n 1)
  [[ -n $core ]] || fail "no core by the pattern $pattern"
  mv "$core" "$2"
}

core_of program with.core
check 'a core' yes yes ./program with.core
strip --strip-debug -o no_debug program
core_of no_debug no_debug.core
check 'a core without debug information' yes yes ./no_debug no_debug.core
core_of stripped stripped.core
check 'a core of a stripped program' no yes ./stripped stripped.core
core_of stripped pages.core 0x3f # with pages of files
rm stripped
check 'a core with pages of files, without the program' no yes -core pages.core
check 'a core without the program' no no -core stripped.core

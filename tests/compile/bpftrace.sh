#!/usr/bin/env bash
# The scripts of tools/bpftrace/ say of a program what it does. Skipped without bpftrace, and where the
# system does not let it set breakpoints.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/objects.sh
root=$PWD

scratch=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  rm -rf "$scratch"
}
trap end EXIT
skip() {
  echo "skipped: $1"
  exit 77
}
command -v bpftrace > /dev/null || skip 'there is no bpftrace (./x test installs it)'
((EUID == 0)) || skip 'bpftrace needs root'
tracing=(/sys/kernel/tracing/uprobe_events /sys/kernel/debug/tracing/uprobe_events)
[[ -e ${tracing[0]} || -e ${tracing[1]} ]] || skip 'the kernel has no tracing here (tracefs), so bpftrace loses some of it'
release_objects
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -Iinclude tests/compile/traced.c "$objects"/*.o -pthread -o "$scratch/program"
cd "$scratch"
mkfifo go
timeout 30 bpftrace -e "uprobe:$scratch/program:main { exit(); } BEGIN { exit(); }" &> log ||
  skip "bpftrace does not work here: $(grep -v RLIMIT log | head -n 1)"

fail() {
  cat log >&2
  echo "bpftrace.sh: $1" >&2
  exit 1
}

# Wait until a command succeeds, or the tracer has ended; for 600 s at most, because the kernel takes its
# time to remove a breakpoint on a busy machine. Returns 1: it did not.
wait_until() { # <command> [argument]...
  local i
  for ((i = 0; i < 6000; i++)); do
    ! "$@" || return 0
    if ! kill -0 "$tracer" 2> /dev/null; then
      "$@"
      return
    fi
    sleep 0.1
  done
  return 1
}
has_line() { grep -q "$1" "$2"; } # <pattern> <file>
# bpftrace looks for a signal only where it waits: one that comes elsewhere is lost. More of them do no harm.
has_ended() { ! { kill "$tracer" && sleep 0.5; } 2> /dev/null; }

# Let the program run from its beginning to its end under a script.
trace() { # <script> [argument]...
  local program
  rm -f log said # or what the last one has written there would be taken for what this one writes
  touch log said
  ./program < go > said &
  program=$!
  pids+=("$program")
  exec 3> go
  # It says on request, as bpftrace's own tests have it, when all breakpoints are set.
  __BPFTRACE_NOTIFY_PROBES_ATTACHED=1 bpftrace -p "$program" "$1" "${@:2}" &> log &
  tracer=$!
  pids+=("$tracer")
  wait_until has_line '^__BPFTRACE_NOTIFY_PROBES_ATTACHED' log || fail "$1 has set no breakpoints"
  echo -n g >&3
  wait_until has_line done said || fail "the program has not ended under $1" # bpftrace names functions while it is there
  kill -0 "$tracer" || fail "$1 has ended early"
  wait_until has_ended || fail "$1 does not end"
  wait "$tracer" || true
  exec 3>&-
  wait "$program" || fail "the program has failed under $1"
}

expect() { # <extended regular expression>...
  for pattern in "$@"; do
    grep -qE -- "$pattern" log || fail "no line /$pattern/"
  done
}

# The sum of the counts in the histogram of that name.
counted() { # <name>
  awk -v name="@$1: " '$0 == name { on = 1; next } /^@|^$/ { on = 0 }
    on { sub(/.*\)|.*\]/, ""); sum += $1 } END { print sum + 0 }' log
}

scripts=$root/tools/bpftrace
trace "$scripts/waits.bt"
n=$(counted 'wait_us[volt_sem_acquire]')
((n >= 390 && n <= 400)) || fail "$n waits at semaphores, not 400 but for the last ones"
[[ $(counted 'wait_us[volt_sleep]') == 2 ]] || fail 'not two sleeps'
[[ $(counted 'thread_us[volt_mutex_lock]') == 1 ]] || fail 'not one thread that waits for a mutex'
expect '^@longest_us\[volt_sleep\]: [0-9]{4,}$'
echo "waits.bt: $n waits at semaphores, 2 sleeps, a thread at a mutex"

# In a changed root bpftrace may see what happens, and not the names of functions.
echo "uprobe:$scratch/program:ping_poll /!@once/ { @once = 1; printf(\"named %s\n\", usym(reg(\"ip\"))); }" > names.bt
trace names.bt
grep -q '^named ping_poll' log || skip 'bpftrace does not find the names of functions here'

trace "$scripts/who.bt"
expect '^@task_to_task\[ping_poll, pong_poll\]: (19[0-9]|200)$' '^@task_to_task\[pong_poll, ping_poll\]: (19[0-9]|200)$' \
  '^@by_the_clock\[compute_poll\]: 1$' '^@by_the_clock\[block_poll\]: 1$'
echo 'who.bt: two tasks that wake each other, two timers'

trace "$scripts/polls.bt"
[[ $(counted 'poll_ns[compute_poll]') == 2 ]] || fail 'not two polls'
expect '^@total_ns\[compute_poll\]: [0-9]{9,}$' '^@poll_ns\[ping_poll\]: $' '^@sleep_us\[[0-9]+\]: $'
echo 'polls.bt: two polls, of 150 ms together'

trace "$scripts/stalls.bt" 20
expect 'compute_poll took [0-9]{3,} ms and has returned' 'block_poll took [0-9]+ ms and has returned' \
  '^@computing\[compute_poll, '
! grep -qE 'p[io]ng_poll took' log || fail 'a short poll is called a stall'
echo 'stalls.bt: a poll that computes, and one that sleeps'

if [[ -z $(bpftrace -l tracepoint:sched:sched_switch 2> /dev/null) ]]; then
  echo 'offcpu.bt: skipped: there are no tracepoints (is tracefs mounted?)'
  exit
fi
trace "$scripts/offcpu.bt"
[[ $(counted 'blocked_us[block_poll]') == 1 ]] || fail 'not one poll that blocks'
! grep -q 'blocked_us\[compute_poll' log || fail 'a poll that computes is said to block'
expect '^\[32K, 64K\)|^\[64K, 128K\)' 'hrtimer_nanosleep|do_nanosleep'
echo 'offcpu.bt: a poll that sleeps in the kernel'

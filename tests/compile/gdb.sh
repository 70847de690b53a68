#!/usr/bin/env bash
# tools/volt_gdb.py lists the fibers of a process and of a core, and shows the whole stack of a suspended
# one: of a build for release, without debug information and without frame pointers.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/compile/objects.sh
. tests/compile/said.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! command -v gdb > /dev/null || ! gdb -nx -batch -ex 'python print(1)' &> /dev/null; then
  echo 'skipped: there is no gdb with Python'
  exit 77
fi

script=$PWD/tools/volt_gdb.py
release_objects
"${CC:-cc}" -std=c11 -O2 -fomit-frame-pointer -Iinclude tests/compile/fibers_of_core.c "$objects"/*.o \
  -pthread -o "$scratch/program"
look=(-ex "source $script" -ex 'volt fibers' -ex 'volt fiber fetch' -ex 'volt enter fetch' -ex 'up 1'
  -ex 'volt leave' -ex 'echo the thread:\n' -ex 'bt -no-filters')

fail() {
  cat "$scratch/log" >&2
  echo "gdb.sh: $1" >&2
  exit 1
}

# What the lines of the log say, in this order.
expect() { # <extended regular expression>...
  mapfile -t said < "$scratch/log"
  said_in_order "$@" || fail "no line /$missed/, or not behind the others"
}

check() { # <what was looked into>
  expect "'nap' +hand-w0 +waits in \w+\(\), called by nap_for_ever\(\)" \
    "'last' +hand-w0 +runs on thread 1" "'new' +any worker +has not begun" \
    "'fetch' +pages-w0 +waits in \w+\(\), called by wait_for_permit\(\)" \
    "0x[0-9a-f]+ +pages-w0 +waits in \w+\(\), called by nap_for_ever\(\)" '^5 fibers' \
    '^#[0-9]+ .* (volt_fiber_leave_|fiber_await)' '^#[0-9]+ .* wait_for_permit' \
    '^#[0-9]+ .* wait_for_permit' '^#[0-9]+ .* wait_for_permit' '^#[0-9]+ .* wait_for_permit' \
    '^#[0-9]+ .* fetch_page' '^#[0-9]+ .* fetch ' '^#[0-9]+ .* volt_fiber_entry_' '^the thread:' \
    '^#0 ' '^#[0-9]+ .* give_up' '^#[0-9]+ .* last ' '^#[0-9]+ .* volt_fiber_entry_'
  ! sed '1,/^the thread:/d' "$scratch/log" | grep wait_for_permit > /dev/null || fail 'a fiber is shown after volt leave'
  echo "$1: 5 fibers, and the stack of one"
}

cd "$scratch"
if gdb -nx -batch -ex run "${look[@]}" ./program &> log && ! grep -q 'ptrace: ' log; then
  check 'a process'
else
  grep -q 'ptrace: ' log || fail 'gdb has failed'
  echo 'a process: skipped: ptrace is not allowed here'
fi

pattern=$(< /proc/sys/kernel/core_pattern)
if [[ $pattern == [\|/]* ]] || ! (ulimit -c unlimited) 2> /dev/null; then
  echo "a core: skipped: the system does not leave it here ($pattern)"
  exit
fi
{ (ulimit -c unlimited && exec ./program) || true; } 2> /dev/null # bash says that it was aborted
core=$(find . -name "${pattern%%%*}*" ! -name program -type f | head -n 1)
[[ -n $core ]] || fail "no core by the pattern $pattern"
gdb -nx -batch "${look[@]}" ./program "$core" &> log || fail 'gdb has failed'
check 'a core'

# and without the script gdb knows nothing of that stack
gdb -nx -batch -ex 'thread apply all bt' ./program "$core" &> log
! grep -q wait_for_permit log || fail 'gdb shows a suspended stack by itself'

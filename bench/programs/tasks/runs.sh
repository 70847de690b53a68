#!/usr/bin/env bash
# Run every workload on every engine, with few operations: that it runs and says what it has
# measured. runs.sh <bench-tasks>
set -euo pipefail
program=$1

fail() {
  echo "runs.sh: $*" >&2
  exit 1
}

# <field it must have> <argument>...
runs() {
  local field=$1 line
  shift
  line=$("$program" "$@") || fail "$*: exit code $?"
  [[ $line =~ ^\{\"version\":\ \"volt\ [0-9.]+\",\ .*\}$ ]] || fail "$*: no JSON: $line"
  [[ $line =~ \"$field\":\ [0-9.]+ ]] || fail "$*: no $field: $line"
}

# <argument>...
is_refused() {
  local code=0
  "$program" "$@" 2> /dev/null || code=$?
  ((code == 2)) || fail "$*: exit code $code, not 2"
}

ran=0
# As --help lists them: <workload> <engine>...[; amount: ...]
while read -r workload engines; do
  ran=$((ran + 1))
  [[ $workload != parked ]] || runs bytes parked --tasks 2000
  for engine in ${engines%%;*}; do
    runs ns "$workload" --engine "$engine" --operations 40
    [[ $workload == parked ]] || runs ns "$workload" --engine "$engine" --operations 9 --workers 2
  done
done < <("$program" --help | sed -n 's/^  \([a-z]\)/\1/p')
((ran > 40)) || fail "--help lists only $ran workloads"

runs allocations cycles --operations 20
runs lost cancel --operations 20 --amount 30
runs slowest_share waits --operations 20
for tasks in 1 7 1000; do
  runs ns held --tasks $tasks --amount 1 --operations 2
  runs ns sem --tasks $tasks --amount 1 --operations 2 --workers 2
  runs ns yield --tasks $tasks --operations 2
  runs ns rwlock --tasks $tasks --amount 1 --operations 2 --workers 2
done
for tasks in 2 3 40; do
  for workload in all barrier broadcast latch once watch; do
    runs ns $workload --tasks $tasks --operations 20
    runs ns $workload --tasks $tasks --operations 20 --workers 2
  done
done

# The library's locks, with a waiter that may be passed, and with tasks that look before they queue.
for bypass in 0 1 16 255; do
  for workload in mutex rwlock waits cycles alone-mutex alone-read alone-write; do
    runs ns $workload --bypass $bypass --operations 40
    [[ $workload == alone-* ]] || runs ns $workload --bypass $bypass --operations 400 --workers 2 --tasks 8
  done
  runs ns mutex --bypass $bypass --looks 64 --operations 400 --workers 2
done

# What is counted is not always none.
[[ $("$program" cycles --engine native) == *'"allocations": 0.000000}' ]] || fail "volt allocates"
[[ $("$program" cycles --engine allocating) != *'"allocations": 0.000000}' ]] ||
  fail "the allocations of allocating are not counted"

is_refused
is_refused nothing
is_refused mutex --engine locked
is_refused mutex --engine
is_refused mutex --permits 3
is_refused mutex --tasks 0
is_refused mutex --tasks 3x
is_refused mutex --workers 1000
is_refused pingpong --tasks 3
is_refused mpmc --tasks 3
is_refused notify --tasks 3
is_refused latch --tasks 1
is_refused all --amount 0
is_refused notify --engine thread
is_refused rwlock --tasks 2 --amount 3
is_refused parked --workers 2
is_refused cancel --amount 101
is_refused mutex --bypass 256
is_refused sem --bypass 16
is_refused waits --bypass 16 --engine locked
is_refused waits --looks 16

#!/usr/bin/env bash
# Count what an uncontended take and give cost: instructions by callgrind, read-modify-write
# operations by single steps. Both are differences between a run of 2 N turns and one of N, so
# everything around the loop cancels out; what the loop itself costs is that of the path "empty".
#
# instructions.sh DIRECTORY    where the programs paths and rmw are
set -euo pipefail

directory=${1:?usage: instructions.sh DIRECTORY}
paths=$directory/paths
rmw=$directory/rmw
turns=1000 # for callgrind
steps=100  # for single steps
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# instructions NAME COUNT
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$paths" "$1" "$2" 2> "$out" > /dev/null
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out"
}

# per_turn NAME: instructions of one turn of the loop
per_turn() {
  local once twice
  once=$(instructions "$1" "$turns")
  twice=$(instructions "$1" $((2 * turns)))
  echo $(((twice - once + turns / 2) / turns))
}

# locked_per_turn NAME: read-modify-write operations of one turn
locked_per_turn() {
  local once twice
  once=$("$rmw" "$paths" "$1" "$steps")
  twice=$("$rmw" "$paths" "$1" $((2 * steps)))
  echo $(((twice - once + steps / 2) / steps))
}

empty=$(per_turn empty)
printf '%-28s %12s %6s %14s %6s\n' 'uncontended, one turn' 'take: instr.' 'RMW' 'give: instr.' 'RMW'
for name in $("$paths" --list); do
  [ "$name" = empty ] && continue
  take=$(per_turn "$name")
  pair=$(per_turn "$name+")
  take_rmw=$(locked_per_turn "$name")
  pair_rmw=$(locked_per_turn "$name+")
  printf '%-28s %12d %6d %14d %6d\n' "$name" $((take - empty)) "$take_rmw" $((pair - take)) \
    $((pair_rmw - take_rmw))
done

#!/usr/bin/env bash
# Count what an uncontended take and give cost: instructions by callgrind, read-modify-write
# operations by single steps. Both are differences between a run of 2 N turns and one of N, so
# everything around the loop cancels out; what the loop itself costs is that of the path "empty".
#
# instructions.sh DIRECTORY [--json FILE]    where the programs paths and rmw are; the table as JSON
set -euo pipefail

usage() {
  echo "usage: instructions.sh DIRECTORY [--json FILE]" >&2
  exit 2
}

directory=${1:-}
json=
case $# in
  1) ;;
  3) [[ $2 == --json && -n $3 ]] || usage && json=$3 ;;
  *) usage ;;
esac
paths=$directory/paths
rmw=$directory/rmw
[[ -x $paths && -x $rmw ]] || usage
turns=1000 # for callgrind
steps=20   # for single steps
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
rows=()
for name in $("$paths" --list); do
  [ "$name" = empty ] && continue
  take=$(per_turn "$name")
  pair=$(per_turn "$name+")
  take_rmw=$(locked_per_turn "$name")
  pair_rmw=$(locked_per_turn "$name+")
  row=("$name" $((take - empty)) "$take_rmw" $((pair - take)) $((pair_rmw - take_rmw)))
  printf '%-28s %12d %6d %14d %6d\n' "${row[@]}"
  rows+=("$(
    printf '{"path": "%s", "take_instructions": %d, "take_rmw": %d, ' "${row[@]:0:3}"
    printf '"give_instructions": %d, "give_rmw": %d}' "${row[@]:3}"
  )")
done
if [[ -n $json ]]; then
  (
    IFS=,
    printf '[%s]\n' "${rows[*]/#/$'\n'}"
  ) > "$json"
fi

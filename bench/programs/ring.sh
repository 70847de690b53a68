#!/usr/bin/env bash
# Compare the two ways to share an io_uring in apps/ringread: batched critical sections against
# a mutex around each submission. A round is every case once, in an order shuffled anew; of each
# case the medians over the rounds, of "to mutex" the median of the ratios within each round.
#
# ring.sh PROGRAM [ROUNDS]    where ringread is; 9 rounds. Exit code 77 if there is no io_uring.
set -euo pipefail
export LC_ALL=C

program=${1:?usage: ring.sh PROGRAM [ROUNDS]}
rounds=${2:-9}
declare -A operations=([cached]=200000 [direct]=10000) # of one run: from the page cache, past it
scratch=$(mktemp -d "$(dirname "$program")/ring.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
file=$scratch/file
samples=$scratch/samples

# read_blocks SOURCE THREADS SUBMISSION [OPERATIONS]: run it; the report is in $scratch/out.
read_blocks() {
  local options=(--operations "${4:-${operations[$1]}}" --threads "$2" --submit "$3")
  if [ "$1" = direct ]; then options+=(--direct); fi
  "$program" "${options[@]}" "$file" > "$scratch/out"
}

# take_sample SOURCE THREADS SUBMISSION ROUND: a line of
# SOURCE THREADS SUBMISSION ROUND OPERATIONS/S SUBMIT-CALLS CALLS LEAST/MOST
take_sample() {
  read_blocks "$1" "$2" "$3"
  sed -n '
    s|^.* s, \([0-9]*\) operations/s$|\1|p
    s|^io_uring_enter: .* submit, \([0-9.]*\) per .* all, \([0-9.]*\) per .*$|\1 \2|p
    s|^operations of a thread: at least \([0-9]*\), at most \([0-9]*\)$|\1 \2|p
  ' "$scratch/out" | paste -sd ' ' | awk -v case="$*" '{ print case, $1, $2, $3, $4 / $5 }'
}

cases() {
  local source threads submission
  for source in "${sources[@]}"; do
    for threads in 1 2 4 8; do
      for submission in bcs mutex; do
        echo "$source $threads $submission"
      done
    done
  done
}

head -c $((64 << 20)) /dev/urandom > "$file"
sync "$file"
read_blocks cached 4 bcs 1000 # ends here with its exit code if it cannot be done
sources=(cached)
if read_blocks direct 1 bcs 1 2> /dev/null; then sources+=(direct); fi

for ((round = 1; round <= rounds; round++)); do
  while read -r source threads submission; do
    take_sample "$source" "$threads" "$submission" "$round"
  done < <(cases | shuf) >> "$samples"
done

echo "random reads of 4096 bytes by several threads through one io_uring; medians of $rounds rounds"
echo "cached: from the page cache; direct: past it. enter: io_uring_enter calls for an operation"
printf '%-7s %7s %-6s %12s %19s %9s %13s %10s %10s\n' \
  source threads submit operations/s quartiles 'to mutex' 'enter: submit' 'all' 'least/most'
cases | awk '
  # The value at a fraction of those of key, or 0.
  function at(key, fraction,    count, i, j, kept, place) {
    count = split(list[key], sorted, " ")
    for (i = 2; i <= count; i++) {
      kept = sorted[i] + 0
      for (j = i - 1; j >= 1 && sorted[j] + 0 > kept; j--) sorted[j + 1] = sorted[j]
      sorted[j + 1] = kept
    }
    place = 1 + fraction * (count - 1)
    i = int(place)
    return i >= count ? sorted[count] : sorted[i] + (place - i) * (sorted[i + 1] - sorted[i])
  }
  function keep(key, value) { list[key] = list[key] " " value }
  NR == FNR {
    name = $1 " " $2 " " $3
    speed[name, $4] = $5
    if ($4 > rounds) rounds = $4
    keep(name "speed", $5)
    keep(name "submit", $6)
    keep(name "all", $7)
    keep(name "even", $8)
    next
  }
  {
    for (i = 1; i <= rounds; i++) keep($0 "ratio", speed[$0, i] / speed[$1 " " $2 " mutex", i])
    printf "%-7s %7d %-6s %12.0f %9.0f %9.0f %9.2f %13.3f %10.3f %10.2f\n", $1, $2, $3,
      at($0 "speed", 0.5), at($0 "speed", 0.25), at($0 "speed", 0.75), at($0 "ratio", 0.5),
      at($0 "submit", 0.5), at($0 "all", 0.5), at($0 "even", 0.5)
  }' "$samples" -

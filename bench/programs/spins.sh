#!/usr/bin/env bash
# How long a blocking call should look before its thread queues: the same program, built with the
# library's settings, with others, and on a pthread_mutex_t; interleaved, medians of the rounds.
#
# spins.sh DIRECTORY [ROUNDS [MILLISECONDS]]    a directory to build in; 5 rounds of 400 ms
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

into=${1:?usage: spins.sh DIRECTORY [ROUNDS [MILLISECONDS]]}
rounds=${2:-5}
ms=${3:-400}
forms=('looks, then yields' 'looks, then queues' 'queues at once' 'pthread_mutex_t')
flags=('' '-DVOLT_SPIN_YIELDS=0' '-DVOLT_SPIN_YIELDS=0 -DVOLT_SPIN_TRIES=0' '-DUSE_PTHREAD')
loads=('8 0 0' '8 100 1000' '8 1000 1000' '4 0 0')

mkdir -p "$into"
scratch=$into VOLT_OBJECTS=${VOLT_OBJECTS:-$into/objects}
rm -rf "$into"/objects-*
. tests/compile/objects.sh
if [[ -n ${CC:-} ]]; then library_objects spins "$CC" -std=c11 -O2; else release_objects; fi
compile=("${CC:-cc}" -std=c11 -O2 -pthread "-I$PWD/include")
library=()
for source in src/{core/*,sync,bcs,async}/*.c; do # park.c alone knows how long a thread looks
  [[ $source == src/core/park/park.c ]] || library+=("$objects/${source##*/}.o")
done
for i in "${!forms[@]}"; do
  # shellcheck disable=SC2086 # flags are words
  "${compile[@]}" ${flags[i]} bench/programs/spins.c src/core/park/park.c "${library[@]}" -o "$into/spins-$i"
done

median() { sort -g | sed -n "$(((rounds + 1) / 2))p"; }

printf '%-20s %-22s %12s %18s\n' 'threads in out' 'a blocking call' 'ns a turn' 'longest wait, us'
for load in "${loads[@]}"; do
  rm -f "$into"/out-*
  for ((round = 0; round < rounds; round++)); do
    for i in "${!forms[@]}"; do
      # shellcheck disable=SC2086 # a load is three words
      "$into/spins-$i" $load "$ms" >> "$into/out-$i"
    done
  done
  for i in "${!forms[@]}"; do
    printf '%-20s %-22s %12s %18s\n' "$load" "${forms[i]}" \
      "$(cut -d' ' -f1 "$into/out-$i" | median)" "$(cut -d' ' -f2 "$into/out-$i" | median)"
  done
done

#!/usr/bin/env bash
# A bridge to an event loop adds nothing that threads share: src/rt/host/bridge.c, its alarm and the headers
# of the bridges have no atomic operation and no lock of their own, so what is modelled elsewhere is
# all there is to it. And the headers for other libraries' loops are thin: no algorithm is in them.
set -euo pipefail
cd "$(dirname "$0")/../.."

shared='VOLT_ATOMIC|volt_(load|store|exchange|cas|fetch)_|atomic_|_lock_\(|volt_fence|pthread|thread_local'
engine=(src/rt/host/bridge.c src/rt/host/alarm.c src/rt/host/alarm.h include/volt/bridge.h)
adapters=(include/volt/{uv,glib,event,ev,epoll}.h)
most=100 # lines of an adapter

# What is shared in these files, comments left out.
found_in() { # <file>...
  local file
  for file in "$@"; do
    gcc -fpreprocessed -dD -E -P "$file" 2> /dev/null | grep -nE "$shared" | sed "s|^|$file: |" || true
  done
}

too_long() { # <file>...
  wc -l "$@" | awk -v most="$most" '$2 != "total" && $1 > most { print $2 ": " $1 " lines" }'
}

wrong=$(found_in "${engine[@]}" "${adapters[@]}"; too_long "${adapters[@]}")
if [[ -n $wrong ]]; then
  printf '%s\n' "$wrong" >&2
  exit 1
fi

# the checks can fail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'void f(volt_bridge *b) { volt_store_relaxed(&b->stage, 1); }' > "$scratch/broken.c"
[[ -n $(found_in "$scratch/broken.c") ]] || { echo 'an atomic operation is not seen' >&2; exit 1; }
echo '/* volt_store_relaxed() */ int x;' > "$scratch/right.c"
[[ -z $(found_in "$scratch/right.c") ]] || { echo 'a comment is taken for code' >&2; exit 1; }
seq $((most + 1)) > "$scratch/long.h"
[[ -n $(too_long "$scratch/long.h" "$scratch/right.c") ]] || { echo 'a long file is not seen' >&2; exit 1; }
echo "${#engine[@]} files share nothing; ${#adapters[@]} headers have at most $most lines"

#!/usr/bin/env bash
# GNU extensions are spelled in the files that hide them behind macros, and nowhere else.
set -euo pipefail
cd "$(dirname "$0")/../.."

hidden_in='^(include/volt/(base|detail/(atomic|base))\.h|src/core/(os/check|os/probe|park/spin)\.h|src/rt/fiber/fiber_switch[a-z0-9_]*\.h):'
spelling='__attribute|__builtin|__asm|\basm\b|__extension__|__typeof|\btypeof\b|__sync_|__atomic_'

stray() { grep -nHE "$spelling" "$@" | grep -vE "$hidden_in" || true; }

found=$(stray include/volt/{,detail/}*.h include/volt/{,cpp/}*.hpp src/*/*.[ch] src/*/*/*.[ch])
if [[ -n $found ]]; then
  printf '%s\nGNU extensions belong behind macros, in base.h, atomic.h, check.h, probe.h, spin.h or fiber_switch*.h\n' "$found" >&2
  exit 1
fi

# the check can fail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'static int f(int x) { return __builtin_ctz(x); }' > "$scratch/broken.c"
[[ -n $(stray "$scratch/broken.c") ]] || { echo "the check does not see an extension" >&2; exit 1; }
echo "no stray extension"

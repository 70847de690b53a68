#!/usr/bin/env bash
# usage: family.sh [--lines]
# Each primitive is in nine places (CONTRIBUTING.md): none is missing. --lines: print what their unit
# tests say about how they are waited for (tests/support/family.h), as a part of a program.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Every public header is one of a primitive, but for these, and why.
declare -A no_primitive=(
  [base]='of all' [volt]='includes all'
  [bcs]='includes two' [waiter]='of all' [waker]='of all' [future]='of all' [park]='blocks a thread'
  [async]='awaits futures' [select]='of futures' [time]='of futures' [loop]='polls futures'
  [lock_all]='of mutexes and semaphores: see docs/primitives/lock_all.md'
  [timer]='see docs/design.md' [bcs_lock]='see docs/bcs.md' [bcs_queue]='see docs/bcs.md'
  [mpsc]='see docs/bcs.md' [task]='see docs/runtime.md' [runtime]='see docs/runtime.md'
  [fiber]='see docs/fiber.md'
  [sight]='looks at all' [name]='looks at all' [counts]='looks at all'
  [bridge]='polls futures' [uv]='a bridge' [glib]='a bridge' [event]='a bridge' [ev]='a bridge'
  [epoll]='a bridge'
  [io]='of the system' [net]='of the system' [process]='of the system'
  [simulated]='of the system, for tests'
  [cluster]='of many machines: see docs/cluster' [cluster_backend]='of many machines'
  [ensemble]='of many machines, for tests'
  [tls]='of the system' [permit_client]='of another process: see docs/guide/10-permits.md'
)

lines() { # what all unit tests say, and a function that uses it
  local names
  sed -n '/^FAMILY[A-Z_]*(/,/)$/p' tests/unit/*/*_test.c
  names=$(sed -nE 's/^FAMILY[A-Z_]*\(([a-z_]+),.*/  \1_is_waited_for();/p' tests/unit/*/*_test.c)
  [[ -n $names ]] || { echo 'no unit test has a FAMILY()' >&2; exit 1; }
  printf 'static void use_family(void) {\n%s\n}\n' "$names"
}

if [[ ${1:-} == --lines ]]; then
  lines
  exit
fi

missing() { # <tree> <primitive>: in which of the nine places it is not
  local tree=$1 name=$2 page=primitives/$2.md type
  there_is() { [[ -n $(find "$tree/$1" -name "$2" -print -quit 2> /dev/null) ]]; }
  says() { grep -qrsE "$1" "$tree/$2"; }
  type=$(sed -nE 's/^VOLT_SIZE_AT_MOST_\((volt_[a-z_]+), .*/\1/p' \
    "$tree/include/volt/$name.h" 2> /dev/null | tail -n 1)
  [[ -n $type ]] || echo "include/volt/$name.h, with VOLT_SIZE_AT_MOST_()"
  there_is src "$name.c" || echo "src/*/$name.c"
  says "^FAMILY[A-Z_]*\($name," tests/unit || echo "tests/unit/*/${name}_test.c, with FAMILY($name, ...)"
  there_is tests/stress "${name}_stress.c" || echo "tests/stress/*/${name}_stress.c"
  there_is tests/model "${name}_model.cpp" || echo "tests/model/*/${name}_model.cpp"
  there_is tests/model "$name.mutants" || echo "tests/model/*/$name.mutants"
  there_is docs "${page##*/}" || echo "docs/$page"
  says "volt/$name\.h|$page" README.md || echo "a line of README.md with its header or its page"
  says "\b${type:-$name}\b" CHANGELOG.md || echo "a line of CHANGELOG.md with ${type:-its type}"
}

# the check can fail: a tree with one primitive, which is taken out of each of its places
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{include/volt,src/sync,tests/{unit,stress,model}/sync,docs/primitives}
touch "$scratch"/{src/sync/x.c,tests/{stress/sync/x_stress.c,model/sync/{x_model.cpp,x.mutants}}} \
  "$scratch/docs/primitives/x.md"
echo 'VOLT_SIZE_AT_MOST_(volt_x, 64);' > "$scratch/include/volt/x.h"
echo 'FAMILY(x, ...)' > "$scratch/tests/unit/sync/x_test.c"
echo '| [`volt_x`](docs/primitives/x.md) |' > "$scratch/README.md"
echo '- `volt_x`: new' > "$scratch/CHANGELOG.md"
[[ -z $(missing "$scratch" x) ]] || { echo 'the check refuses what is right' >&2; exit 1; }
places=0
while read -r file; do
  mv "$file" "$scratch/away"
  [[ $(missing "$scratch" x) == *[a-z]* ]] || { echo "the check does not miss $file" >&2; exit 1; }
  mv "$scratch/away" "$file"
  places=$((places + 1))
done < <(find "$scratch" -type f)

wrong='' primitives=0
for header in include/volt/*.h; do
  name=$(basename "$header" .h)
  [[ -z ${no_primitive[$name]:-} ]] || continue
  primitives=$((primitives + 1))
  wrong+=$(missing . "$name" | sed "s/^/$name is not in: /"; echo .)
  wrong=${wrong%.}
done
for name in "${!no_primitive[@]}"; do
  [[ -e include/volt/$name.h ]] || wrong+="there is no include/volt/$name.h that could be none"$'\n'
done
if [[ -n $wrong ]]; then
  printf '%s\n' "$wrong" >&2
  exit 1
fi
echo "$primitives primitives in $places places each; ${#no_primitive[@]} headers are of no primitive"

#!/usr/bin/env bash
# usage: exports.sh LIBRARY...
# A shared library exports exactly what src/volt.abi lists, each name under its version node; that of a
# build that is not as it is shipped, under a node of that build's own. (That the list is what the headers
# declare is held by abi.py.)
set -euo pipefail
libraries=$(realpath "$@")
cd "$(dirname "$0")/../.."

listed() { # <sync, rt or io> <list>: "name@@node", a line each
  sed -nE "s/^$1 +([A-Z0-9_.]+) .*\\b(volt_[a-z0-9_]+)\\(.*/\\2@@\\1/p" "$2" | sort
}

exported() { # <library>: the same; without the version nodes themselves
  nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

# A library with VOLT_SIGHT=1 has more, in a node of its own; some names are others there, so that a
# program of another build does not link with it (volt/detail/holders.h).
renamed=$(sed -nE 's/^#define (volt_[a-z_]+) \1_?sight_( .*)?$/\1/p' include/volt/detail/holders.h | paste -sd '|')
without_sight() { grep -vE "@@VOLT_HOLDERS_|^($renamed)@@"; }

of_build() { # <suffix of the libraries>: the nodes of the list as they are there
  local node=${1#-}
  sed "s/@@VOLT_/@@VOLT_${node^^}${1:+_}/"
}

compare() { # <library> <list>: how they differ
  local name suffix
  name=$(basename "$1" | sed -E 's/^libvolt-([a-z]+)(-sight|-debug)?\..*/\1/')
  suffix=$(basename "$1" | sed -E 's/^libvolt-([a-z]+)(-sight|-debug)?\..*/\2/')
  if [[ $(nm -D "$1") == *volt_sight_build_1* ]]; then
    diff <(listed "$name" "$2" | of_build "$suffix" | without_sight) <(exported "$1" | without_sight)
  else
    diff <(listed "$name" "$2" | of_build "$suffix") <(exported "$1")
  fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for library in $libraries; do
  compare "$library" src/volt.abi >&2 ||
    { echo "src/volt.abi (<) and $library (>) differ" >&2; exit 1; }
  count=$(exported "$library" | wc -l)
  ((count > 20)) || { echo "$library exports only $count functions" >&2; exit 1; }

  # the check can fail: a name that is not listed, and one in another node
  sed -E "s/VOLT_0\\.1/VOLT_9.9/" src/volt.abi > "$scratch/node"
  sed -E '/_(init|create)\(/d' src/volt.abi > "$scratch/missing"
  for broken in node missing; do
    ! compare "$library" "$scratch/$broken" > /dev/null ||
      { echo "the check misses a wrong $broken" >&2; exit 1; }
  done
  echo "$count functions in ${library##*/}"
done

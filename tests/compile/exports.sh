#!/usr/bin/env bash
# usage: exports.sh LIBRARY...
# A shared library exports exactly what its public headers declare VOLT_API or VOLT_INLINE, under a
# version node, so that the symbol map and the headers cannot drift apart; and the type of each is held
# in tests/unit/abi*_test.c. Of names that end in an underscore only *_slow_ may be public: inline
# functions call them. task.h and runtime.h are those of libvolt-rt, all others are those of
# libvolt-sync.
set -euo pipefail
libraries=$(realpath "$@")
cd "$(dirname "$0")/../.."

of_rt='/(task|runtime)\.h$'

headers_of() {
  if [[ $1 == *volt-rt* ]]; then
    printf '%s\n' include/volt/*.h | grep -E "$of_rt"
  else
    printf '%s\n' include/volt/*.h | grep -vE "$of_rt"
  fi
}

declared() {
  sed -nE 's/^VOLT_(API|INLINE) [^(]*\b(volt_[a-z0-9_]+)\(.*/\2/p' "$@" | sort
}

exported() { # "name@@VOLT_0.1" for a function, without the version nodes and what is private
  nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@VOLT_PRIVATE$/ { print $3 }' | sort
}

held() { # in a line that ends "name)," or, a twin, "name;"
  sed -nE 's/.*\b(volt_[a-z0-9_]+)(\),|;)$/\1/p' tests/unit/abi*_test.c | sort
}

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

for library in $libraries; do
  mapfile -t headers < <(headers_of "$library")
  map=src/$(basename "$library" | sed -E 's/^lib([a-z-]+)\..*/\1/').map
  [[ $(declared "${headers[@]}" | wc -l) -gt 20 ]] || fail "found too few declarations in the headers"

  difference=$(diff <(declared "${headers[@]}") <(exported | sed 's/@@.*//')) ||
    fail "headers (<) and $library (>) differ; see $map:" "$difference"

  missing=$(comm -23 <(declared "${headers[@]}") <(held))
  [[ -z $missing ]] || fail "not in tests/unit/abi*_test.c:" "$missing"

  unversioned=$(exported | grep -v '@@VOLT_[0-9.]*$' || true)
  [[ -z $unversioned ]] || fail "exported without a version node:" "$unversioned"

  internal=$(exported | sed 's/@@.*//' | grep '_$' | grep -v '_slow_$' || true)
  [[ -z $internal ]] || fail "internal names that are exported:" "$internal"

  echo "$(exported | wc -l) functions in ${library##*/}"
done

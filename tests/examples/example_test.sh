#!/usr/bin/env bash
# usage: example_test.sh SOURCE PROGRAM...
# Runs an example. It must end with 0 and print what its source says: the lines "prints: " of the
# first comment. Exit code 0 if it does; 77 if the example ends so: this system lacks what it needs.
set -euo pipefail
source=$1
shift

fail() {
  printf '%s: %s\n' "${source##*/}" "$1" >&2
  exit 1
}

agree() { diff <(echo "$1") <(echo "$2"); } # EXPECTED PRINTED

expected=$(sed -nE 's|^ \* prints: (.*)$|\1|p' "$source" | sed -E 's| \*/$||')
[[ -n $expected ]] || fail 'its first comment does not say what it prints'
code=0
printed=$("$@") || code=$?
((code != 77)) || exit 77
((code == 0)) || fail "it ended with $code"
agree "$expected" "$printed" || fail 'it does not print what it says'
! agree "$expected, or not" "$printed" > /dev/null || fail 'a wrong expectation was not noticed'

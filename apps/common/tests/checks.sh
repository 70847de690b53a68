# checks.sh: what the tests of the apps say. Sourced; sets $failures to 0.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # failures is read, and code set, by the test
failures=0

ok() { echo "ok: $1"; }
failed() { echo "FAILED: $1"; failures=$((failures + 1)); }
skipped() { echo "skipped: $1 ($2)"; }

# check NAME COMMAND...: the command must succeed.
check() {
  local name=$1
  shift
  if "$@"; then ok "$name"; else failed "$name"; fi
}

# expect CODE NAME: the exit code of the last run.
expect() {
  if [ "$code" -eq "$1" ]; then
    ok "$2"
  else
    failed "$2: exit code $code, not $1"
    sed 's/^/  | /' err
  fi
}

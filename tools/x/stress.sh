# shellcheck shell=bash
## stress [SECONDS]       release build: run every stress test for SECONDS (10)
cmd_stress() {
  stress_in release "$@"
}

## chaos [SECONDS]        the same in a build where a thread may yield or nap before any atomic
##                        operation, with batches of one
cmd_chaos() {
  stress_in chaos "$@"
}

stress_in() { # <preset> [seconds]
  VOLT_TEST_SECONDS=$(seconds_from 10 "${@:2}")
  export VOLT_TEST_SECONDS
  need @run
  build "$1" stress_tests
  ctest --preset "$1" -L '^stress$' --verbose --timeout $((VOLT_TEST_SECONDS * 2 + 60)) |
    only_reports
}

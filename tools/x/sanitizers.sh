# shellcheck shell=bash
## asan                   unit, stress, app and example tests under AddressSanitizer and UBSan
cmd_asan() {
  need @run python3
  export VOLT_TEST_SECONDS=${VOLT_TEST_SECONDS:-2}
  build asan
  ctest --preset asan -j2 "$@"
}

## tsan                   unit, stress, app and example tests under ThreadSanitizer
cmd_tsan() {
  need @run python3
  export VOLT_TEST_SECONDS=${VOLT_TEST_SECONDS:-2}
  build tsan
  tsan_run ctest --preset tsan -j2 "$@"
}

# Sourced by tests that have a quick form for ./x test: `whole` says whether the long form is asked for,
# by VOLT_TEST_SECONDS of 5 and more, as ./x torture does.
whole() {
  local seconds=${VOLT_TEST_SECONDS:-0}
  seconds=${seconds%%.*}
  ((${seconds:-0} >= 5))
}

# shellcheck shell=bash
## torture [SECONDS]      run the stress tests of the release, asan, tsan and chaos builds, and the tests of
##                        voltgate and of real ZooKeeper servers in their long forms, in rounds with
##                        new seeds, for SECONDS (3600); before them, tests that compile in theirs
## torture alarms [SECONDS]  only what is a part of each round: the apps and the stress tests in a build in
##                        which every program is watched for deadlocks; no program may report one
cmd_torture() {
  local seconds preset seed log rounds=0 presets=(release asan tsan chaos)
  if [[ ${1:-} == alarms ]]; then
    torture_alarms_for "$(seconds_from 3600 "${@:2}")"
    return
  fi
  seconds=$(seconds_from 3600 "$@")
  need @run +liburing-dev +libinih-dev +libpq-dev +libzookeeper-st-dev tzdata python3 clang libclang-rt-dev
  daemon postgres || true
  daemon redis-server || true
  zookeeper || true
  torture_compilers
  for preset in "${presets[@]}"; do
    build "$preset" stress_tests cluster_tests cluster_simulation voltgate voltgate_ledger voltgate_features
  done
  build watched
  SECONDS=0
  while ((SECONDS < seconds)); do
    for preset in "${presets[@]}"; do
      seed=$((RANDOM * 32768 + RANDOM + 1))
      log=$(build_dir "$preset")/torture.log
      torture_one "$preset" "$seed" -L '^stress$' &&
        torture_one "$preset" "$seed" -R '^app\.voltgate\.(features|leaving|ledger|reload|resp|restart|tenants)$' &&
        torture_one "$preset" "$seed" -L '^cluster$|^simulation$' || {
        cat "$log" >&2 # the output of those that failed
        echo "x: the $preset build failed with VOLT_TEST_SEED=$seed: $log" >&2
        return 1
      }
    done
    torture_alarms "$((RANDOM * 32768 + RANDOM + 1))" || return 1
    rounds=$((rounds + 1))
    echo "round $rounds passed after $SECONDS of $seconds seconds"
  done
}

# One round of the programs that are watched. That tests pass is not what counts: they are slower, and
# those of the library's own watcher have it to themselves.
torture_alarms() { # <seed>
  local file
  file=$PWD/$(build_dir watched)/alarms
  : > "$file"
  VOLT_ALARMS=$file torture_one watched "$1" -L '^(app|example|stress)$' || true
  grep -q 'tests passed' "$(build_dir watched)/torture.log" || { # it ran none
    cat "$(build_dir watched)/torture.log" >&2
    return 1
  }
  [[ ! -s $file ]] || {
    cat "$file" >&2
    echo "x: a program that is watched has reported, with VOLT_TEST_SEED=$1: $file" >&2
    return 1
  }
}

torture_alarms_for() { # <seconds>
  local rounds=0
  need @run libpq-dev tzdata python3
  daemon postgres || true
  daemon redis-server || true
  build watched
  SECONDS=0
  while ((SECONDS < $1)); do
    torture_alarms "$((RANDOM * 32768 + RANDOM + 1))" || return 1
    rounds=$((rounds + 1))
    echo "round $rounds without an alarm after $SECONDS of $1 seconds"
  done
}

# What compiles: once, because no seed changes it.
torture_compilers() {
  local tests='headers|cpp|cpp_misuse|coro|docs_code|fiber_switch|fiber_tools|library|platforms'
  build release volt_rt_shared volt_sync_shared
  torture_one release 1 -R "^compile\\.($tests)\$" || {
    cat "$(build_dir release)/torture.log" >&2
    echo 'x: a test that compiles failed in its long form' >&2
    return 1
  }
  echo "compiled in the long forms"
}

torture_one() { # <preset> <seed> <which tests>...
  VOLT_TEST_SEED=$2 VOLT_TEST_SECONDS=5 tsan_run \
    ctest --preset "$1" "${@:3}" -j2 --timeout 600 > "$(build_dir "$1")/torture.log" 2>&1
}

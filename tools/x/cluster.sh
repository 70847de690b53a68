# shellcheck shell=bash
## cluster test [OPT...]  what wants real servers: three ZooKeepers on the loopback; installs Java if it
##                        is missing; OPT: of ctest
## cluster simulation [--slow | --crowd] [--seeds N | --seconds N | --seed N [--trace] | --mutants]
##                        many hosts on a simulated ensemble, with faults by seeds; the seed that fails is
##                        printed; --slow: what hosts on slow links cost the others; --crowd: many healthy hosts
##                        that come at once; --mutants: engines that it has to reject
## cluster demo [OPT...]  three ZooKeepers, PostgreSQL, three voltgates with one limit, and pgbench through
##                        all three; one gate is killed on the way; a minute (--help: options)
## cluster plan [--save]  figures of 10 to 1,000 hosts, on the simulated ensemble, in virtual time: docs/cluster/plan.md
cmd_cluster() {
  case ${1:-} in
    demo | plan | simulation | test) "cluster_$1" "${@:2}" ;;
    *) wrong "there is no ./x cluster ${1:-}" ;;
  esac
}

cluster_plan() { # [--save]
  at_most 1 "$@"
  if [[ ${1:---save} != --save ]]; then wrong "cluster plan: what is $1?"; fi
  need @run +liburing-dev +libzookeeper-st-dev python3 +gnuplot-nox
  build bench bench-cluster
  local into=results/cluster
  python bench/programs/cluster/plan.py --program "$(build_dir bench)/bench/bench-cluster" \
    --page docs/cluster/plan.md --into "$into" --jobs "$(nproc)" "$@"
  if (($#)); then cp "$into"/cluster-plan.{json,csv} "$into"/cluster-plan-*.svg bench/results/; fi
}

cluster_test() {
  need @cluster
  zookeeper || wrong 'cluster: there is no ZooKeeper'
  daemon postgres || true # tests that want it are skipped then
  build dev cluster_tests
  VOLT_TEST_SECONDS=${VOLT_TEST_SECONDS:-5} ctest --test-dir "$(build_dir dev)" -L '^cluster' \
    --output-on-failure "$@" # the long forms
}

cluster_simulation() {
  need @run +liburing-dev +libzookeeper-st-dev python3
  if [[ ${1:-} == --mutants ]]; then
    build dev cluster_simulation
    python tests/simulation/mutants.py run "$(build_dir dev)" "$(build_dir dev)/tests/simulation/mutants" "${@:2}"
  else
    build release cluster_simulation
    "$(build_dir release)/tests/simulation/cluster_simulation" "$@"
  fi
}

cluster_demo() {
  case ${1:-} in -h | --help) exec sed -En '2,/"""$/{s/"{3}//;p}' tests/cluster/demo.py ;; esac
  if has_command python3; then python tests/cluster/demo.py --check "$@"; fi # knows its options
  need @cluster
  zookeeper || wrong 'cluster: there is no ZooKeeper'
  daemon postgres || wrong 'cluster: there is no PostgreSQL'
  build release voltgate
  python tests/cluster/demo.py "$PWD/$(build_dir release)/apps/voltgate/voltgate" "$@"
}

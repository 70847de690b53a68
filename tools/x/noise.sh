# shellcheck shell=bash
## noise [MINUTES] [OPT...] run all tests while their processes are stopped and continued at random, and the cores and
##                        the page cache are filled; in rounds, for MINUTES (one round); says which tests failed.
##                        OPT: of ctest
cmd_noise() {
  local minutes=0
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then minutes=$1 && shift; fi
  need @test
  daemon postgres || true
  daemon redis-server || true
  zookeeper || true
  build dev
  local options=("-j$((2 * $(nproc) + 1))" -L "$labels_of_test")
  python tools/noise --minutes "$minutes" "$(build_dir dev)" "${options[@]}" "$@"
}

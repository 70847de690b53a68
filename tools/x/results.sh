# shellcheck shell=bash
## results                the pages of bench/results: their commits, and whether their sources have changed since
cmd_results() {
  at_most 0 "$@"
  python tools/results
}

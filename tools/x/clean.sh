# shellcheck shell=bash
## clean                  remove the build directories
cmd_clean() {
  at_most 0 "$@"
  rm -rf build
}

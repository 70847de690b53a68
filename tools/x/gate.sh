# shellcheck shell=bash
## gate [OPT...]          start PostgreSQL, voltgate in front of it and pgbench, and say where the page is
##                        (--help: options)
cmd_gate() {
  case ${1:-} in -h | --help) exec apps/voltgate/try.sh --help ;; esac
  apps/voltgate/try.sh --check "$@"
  need @gate
  daemon postgres || wrong 'gate: there is no PostgreSQL'
  build release voltgate
  exec apps/voltgate/try.sh --program "$PWD/$(build_dir release)/apps/voltgate/voltgate" "$@"
}

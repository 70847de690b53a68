# shellcheck shell=bash
## prove [HOURS]          come to a verdict on each model, mutant, sanitizer, compiler, architecture and fuzzer that has
##                        none on these sources, cheapest first, then search longer, for HOURS (1); tests/proof
##                        remembers
## prove --status         what holds of these sources, and what has no verdict
cmd_prove() {
  at_most 1 "$@"
  [[ ${1:-1} == --status || ${1:-1} =~ ^[0-9]*[.]?[0-9]+$ ]] || wrong "not a number of hours: $1"
  need @test @model
  build dev
  if [[ ${1:-} == --status ]]; then
    python tools/prove status "$(build_dir dev)"
  else
    python tools/prove run "$(build_dir dev)" "${1:-1}"
  fi
}

# shellcheck shell=bash
## model [SECONDS]        run every model and every mutant, each for SECONDS (60)
cmd_model() {
  VOLT_MODEL_SECONDS=$(seconds_from 60 "$@")
  export VOLT_MODEL_SECONDS
  need @model
  build model
  ctest --preset model -j4 --verbose | only_reports | count_mutants
}

## mutants [SOURCE]       run the mutants of tests/model/*/SOURCE.mutants, or all mutants; no models
cmd_mutants() {
  at_most 1 "$@"
  [[ -z ${1:-} || -n $(compgen -G "tests/model/*/$1.mutants") ]] || wrong "there are no mutants of $1"
  need @model
  build model
  ctest --preset model -R "^mutant\.${1:+$1-}" -j4 --verbose | only_reports | count_mutants "${1:-}"
}

# Pass on the reports, and say at the end how many mutants there are and how many were rejected.
count_mutants() { # [source]
  local all
  all=$(python tests/model/mutants.py list | grep -c "^${1:+$1-}")
  awk -v all="$all" '{ print } /^rejected: / { rejected++ }
    END { printf "%d mutants, %d rejected\n", all, rejected }'
}

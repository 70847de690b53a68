# shellcheck shell=bash
## try NAME               what one primitive, room or program has: unit tests, stress tests, models, a few mutants;
##                        builds what these need, in build/try, and installs nothing; without NAME: the names
cmd_try() {
  local plan targets code=0
  export VOLT_NO_INSTALL=1
  at_most 1 "$@"
  need python3
  plan=$(python tools/x/belongs.py "$@") || exit
  # shellcheck disable=SC2046 # several words
  need @build libcmocka-dev $(planned packages)
  # shellcheck disable=SC2046
  configure try $(planned options)
  try_build
  ctest --preset try "-j$(nproc)" --no-tests="$(try_has_tests)" -R "$(planned tests)" || code=1
  say_skipped "$(build_dir try)/Testing/Temporary/LastTest.log"
  if [[ " ${targets[*]} " == *' model_'* ]]; then
    try_models || code=1
    try_mutants || code=1
  fi
  return "$code"
}

# What the plan, as tools/x/belongs.py writes it, says of this.
planned() { # <kind>
  sed -n "s/^$1 //p" <<< "$plan"
}

# The targets that are in this build: the tests', and the programs of models.
try_build() {
  local wanted programs
  programs=$(planned programs; planned models | cut -d ' ' -f 1)
  wanted="$(planned targets)|^model_(${programs//[$' \n']/|})$"
  mapfile -t targets < <(cmake --build --preset try --target help | sed -n 's/: phony$//p' | grep -E "$wanted")
  ((${#targets[@]})) || wrong 'nothing of it can be built here'
  cmake --build --preset try --target "${targets[@]}" >&2
}

# What ctest says if it finds none: an error, unless models are all that can be built here.
try_has_tests() {
  if printf '%s\n' "${targets[@]}" | grep -v '^model_' > /dev/null; then echo error; else echo ignore; fi
}

# Each for a fifth of a second.
try_models() {
  local program models code=0
  while read -r program models; do
    # shellcheck disable=SC2086 # several names
    "$(build_dir try)/tests/model/model_$program" --seconds "${VOLT_MODEL_SECONDS:-0.2}" $models || code=1
  done < <(planned models)
  return "$code"
}

try_mutants() {
  local mutants
  mutants=$(planned mutants)
  [[ -z $mutants ]] || ctest --preset try "-j$(nproc)" --no-tests=error -R "^mutant[.](${mutants// /|})$"
}

# shellcheck shell=bash
## test [--page] [OPT...] build everything; unit, compile, docs, install, app, example, stress, quick models;
##                        what could not be tried, and why, is said at the end;
##                        --page: install a browser, too, for the tests of voltgate's page, of the
##                        benchmarks' report and of the HTML reference;
##                        --times: measure instead what each test takes, and write bench/results/tests.md;
##                        OPT: of ctest; without one, tests of compilers, installation and simulation
##                        are left out if ./x prove has run them on these very sources
labels_of_test='^(unit|cluster|compile|docs|install|app|example|bench|stress|model-quick)$' # as in CMakePresets.json
cmd_test() {
  local needs=(@test) times=''
  if [[ ${1:-} == --page ]]; then needs+=(@page) && shift; fi
  if [[ ${1:-} == --times ]]; then times=yes && shift; fi
  need "${needs[@]}"
  daemon postgres || true # tests that want them are skipped then
  daemon redis-server || true
  zookeeper || true
  build dev
  if [[ -n $times ]]; then
    python tools/times run "$(build_dir dev)" -L "$labels_of_test" "$@"
    return
  fi
  local code=0 log settled='' without=()
  if (($# == 0)); then leave_settled; fi
  log=$(build_dir dev)/Testing/Temporary/LastTest.log
  rm -f "$log"
  ctest --preset dev "-j$((2 * $(nproc) + 1))" "${without[@]}" "$@" || code=$? # tests/CMakeLists.txt says why
  if [[ -e $log ]]; then say_skipped "$log"; fi
  if ((${#without[@]})); then
    printf '\nNot run: they passed on these very sources (tests/proof/checks.txt; ./x prove); today is not their turn:\n%s\n' "$settled"
  fi
  return $code
}

# Which tests tests/proof says to have passed on these sources, on a system like this one.
leave_settled() {
  settled=$(python tools/prove settled)
  if [[ -n $settled ]]; then without=(-E "$(cut -d' ' -f2- <<< "$settled" | paste -sd'|')"); fi
}

# What tests have left out, and why: their lines "skipped: ...", and those of a part, "...: skipped: ...".
say_skipped() { # <ctest's log>
  awk '/^[0-9]+\/[0-9]+ Test: / { test = $3 }
    /^<end of output>$/ { test = "" }
    test != "" && /(^|: )skipped: / { list = list "\n  " test ": " $0 }
    END { if (list != "") print "\nNot tried here:" list }' "$1"
}

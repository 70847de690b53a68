# shellcheck shell=bash
## cases [OPTION]...      every test, case, model and mutant, by name, as the sources say;
##                        --against COMMIT: what is gone, and what is new (--help: more)
cmd_cases() {
  need python3
  python tools/x/cases.py "$@"
}

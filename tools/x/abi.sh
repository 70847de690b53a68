# shellcheck shell=bash
## abi [--update]         hold what the libraries export against src/volt.abi; --update: write that list,
##                        the symbol maps and volt.h anew, from the headers
cmd_abi() {
  at_most 1 "$@"
  [[ ${1:---update} == --update ]] || wrong "not an option of abi: $1"
  need gcc g++ libc6-dev python3
  python tests/compile/abi.py "$@"
}

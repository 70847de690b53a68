# shellcheck shell=bash
## abi [--update]         hold what the libraries export against src/volt.abi; --update: write that list,
##                        the symbol maps, volt.h and what debian/ has of it anew, from the headers
cmd_abi() {
  at_most 1 "$@"
  [[ ${1:---update} == --update ]] || wrong "not an option of abi: $1"
  need gcc g++ libc6-dev python3
  python tests/compile/abi.py "$@"
  if (($#)); then python tools/debian.py "$@"; fi
}

#!/usr/bin/env bash
# ./x answers wrong arguments, and questions, before it looks for a tool: it is run here where there is
# nothing but a shell.
set -euo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for tool in bash env dirname nproc sed awk; do
  ln -s "$(command -v "$tool")" "$scratch/$tool"
done
ran=0

answers() { # <exit code> <words of the answer> <argument of x>...
  local code=0
  env -i "PATH=$scratch" ./x "${@:3}" > "$scratch/out" 2>&1 || code=$?
  if ((code != $1)) || ! grep -qE -e "$2" "$scratch/out"; then
    cat "$scratch/out" >&2
    echo "./x ${*:3}: exit code $code, not $1, or no word of '$2'" >&2
    exit 1
  fi
  ran=$((ran + 1))
}

answers 2 'not a number of seconds: abc' model abc
answers 2 'not a number of seconds: 0' stress 0
answers 2 'not a number of seconds: 0' chaos 0
answers 2 'not a number of seconds: x' torture x
answers 2 'too many arguments' model 1 2
answers 2 'too many arguments' aarch64 a b
answers 2 'too many arguments' prove 1 2
answers 2 'not a number of hours: x' prove x
answers 2 'there is no fuzzer nothing' fuzz nothing
answers 2 'not a number of seconds: x' fuzz sight x
answers 2 "not a version: '1.2'" release 1.2
answers 2 'it is ./x bench all --save' bench all
answers 2 'there are no mutants of nothing' mutants nothing
answers 2 'there is no missing' demo missing
answers 2 'there is no ./x bench nothing' bench nothing
answers 2 'not a number of rounds: x' bench ring x
answers 2 'not a number of rounds: x' bench spins x
answers 2 'keeps whole runs' bench --save
answers 2 'there is no commit nothing' bench bypass --before nothing
answers 2 'keeps whole runs' bench bypass --save --rounds 3
answers 2 'keeps whole runs: ./x bench sight --save' bench sight --rounds 3 --save
answers 2 'not an option of format: --all' format --all
answers 2 'there is no ./x house nothing' house nothing
answers 2 'not an option of abi: --all' abi --all
answers 2 'not an option of docs: all' docs all
answers 2 'not an option of amalgamate: --all' amalgamate --all
answers 2 'too many arguments' amalgamate here there
answers 2 'not an option of deb: --all' deb --all
answers 2 'too many arguments' deb --quick --update
answers 2 'not an option of instructions: all' instructions all
answers 2 "'x' is no number" gate --seconds x
answers 2 'no option --all' gate --all
answers 2 'there is no ./x cluster nothing' cluster nothing
answers 2 'usage' nothing
answers 0 'bench ring' bench --help
answers 0 'once python3 is installed' bench bypass --help
answers 0 'once python3 is installed' bench sight --list
answers 0 '--page' test --help
answers 0 '--no-browser' gate --help
answers 0 'Java' cluster --help
answers 0 '--no-browser' cluster demo --help
answers 0 'mmdebstrap' bare -h
answers 0 'usage' help
# and where the arguments are right, it does look
answers 1 'missing|no apt-get' demo
# --no-install, wherever it stands: what is left out, and what the command cannot do without. Behind bare it
# is of the command that bare runs.
answers 1 '^x: relacy-dev is missing: left out: the models' --no-install test
answers 1 'cannot be done without gcc g\+\+ .* libcmocka-dev' test --no-install -R unit
answers 1 'cannot be done without .*relacy-dev' model --no-install 1
answers 1 '^x: libinih-dev is missing: left out' stress 1 --no-install
answers 1 'cannot be done without .*libinih-dev' cluster test --no-install
answers 1 'cannot be done without mmdebstrap' --no-install bare
answers 1 '^x: --no-install: it cannot be done without python3' try mutex # which never installs
answers 1 '(no apt-get|root).* mmdebstrap' bare ./x --no-install demo
echo "$ran answers"

# need() by itself: it goes on without what can be left out.
goes() { # <on or not> <words of what is said> <function> <package>...
  local how=on
  # shellcheck disable=SC2016 # expanded inside
  VOLT_NO_INSTALL=1 PATH=$scratch bash -c 'set -eu; . tools/x/shared/packages.sh; "$@"' need "${@:3}" \
    > "$scratch/out" 2>&1 || how=not
  if [[ $how != "$1" || ! $(< "$scratch/out") =~ $2 ]]; then
    cat "$scratch/out" >&2
    echo "${*:3}: goes $how, or no word of '$2'" >&2
    exit 1
  fi
}
goes on '' need bash env
goes on '^x: mandoc is missing: left out: what mandoc says' need bash mandoc
goes not '^x: --no-install: it cannot be done without mandoc.*apt-get install mandoc' need mandoc +mandoc
goes not 'without mandoc' need_all bash mandoc
goes not 'without clang-format' need clang-format
goes not 'unbound' need @nothing
# The lists that commands name are there, and what can be left out is needed by one of them.
# shellcheck disable=SC2016 # expanded inside
bash -euc '
  . tools/x/shared/packages.sh
  needed=$(grep -hE "needs?\b|_peer " "$@"; printf "%s\n" "${lists[@]}")
  for list in $(grep -oE "[ (]@[a-z0-9]+" <<< "$needed" | tr -d "("); do packages_of "$list" > /dev/null; done
  for package in "${!left_out[@]}"; do
    grep -qE "(^|[ +])$package( |$)" <<< "$needed" || { echo "packages.sh: no command needs $package" && exit 1; }
  done' lists tools/x/*.sh bench/run.sh bench/simulation/scale.sh

# No Python program of ./x ends in a traceback: there is one way to call them.
if [[ $(cat x tools/x/*.sh tools/x/shared/*.sh bench/run.sh bench/simulation/scale.sh | grep -c 'python3 -B') != 1 ]]; then
  echo './x: a Python program that is not called by python()' >&2
  exit 1
fi
plainly() { # <words of the answer> <line of Python>
  echo "$2" > "$scratch/program.py"
  if python3 -B tests/support/plainly.py "$scratch/program.py" &> "$scratch/out" ||
    grep -q Traceback "$scratch/out" || ! grep -qE -e "$1" "$scratch/out"; then
    cat "$scratch/out" >&2
    echo "plainly.py: no word of '$1', or a traceback" >&2
    exit 1
  fi
}
if command -v python3 > /dev/null; then
  plainly 'program.py: there is no /nowhere/tool ' 'import subprocess; subprocess.run(["/nowhere/tool"])'
  plainly 'this Python has no module nothing_like_it' 'import nothing_like_it'
  plainly 'ValueError: a reason' 'raise ValueError("a reason")'
  echo 'no traceback'
fi

# ./x try NAME: each public header has a NAME with a unit test, and each word of the table is one. A tree with one
# header that has none is refused, and so is a table with a word too many; a wrong NAME is answered with the list.
if command -v python3 > /dev/null; then
  belongs() { python3 -B tools/x/belongs.py "$@" > "$scratch/out" 2>&1; }
  refused() { # <words of the answer> <argument>...
    if belongs "${@:2}" || ! grep -qE -e "$1" "$scratch/out"; then
      cat "$scratch/out" >&2
      echo "belongs.py ${*:2}: not refused, or no word of '$1'" >&2
      exit 1
    fi
  }
  belongs --check || { cat "$scratch/out" >&2 && exit 1; }
  tree=$scratch/tree
  mkdir -p "$tree"/{include/volt,src/room,tools/x,tests/{unit/room,model}}
  touch "$tree"/{include/volt/one.h,src/room/two.c,tests/unit/room/{one_more,two}_test.c,tools/x/try.table}
  cp tests/model/mutants.py "$tree/tests/model"
  belongs --root "$tree" --check || { cat "$scratch/out" >&2 && exit 1; }
  belongs --root "$tree" room
  grep -q '^tests .*one_more|two' "$scratch/out" || { echo 'try: a room has not all its tests' >&2 && exit 1; }
  refused 'there is no three to try' --root "$tree" three
  refused '^others: .*two' --root "$tree"
  echo 'one two three' > "$tree/tools/x/try.table"
  refused 'one: nothing belongs to three' --root "$tree" --check
  echo 'one two' > "$tree/tools/x/try.table"
  touch "$tree/include/volt/other.h"
  refused 'other.h: ./x try other has no unit test' --root "$tree" --check
  echo 'what ./x try tries'
fi

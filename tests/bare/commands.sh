#!/usr/bin/env bash
# usage: ./x bare tests/bare/commands.sh [--reverse] [--only REGEX] [--list]
# Tries the commands of ./x help on a new machine, in the order of the page or in the reverse order,
# each in the shortest form that does all that the command does. Each has to end with exit code 0, and
# none may end in a traceback, or call what is not there: what one command has left behind, or has not
# installed, must not be in the way of the next. It takes hours; --only tries some.
set -uo pipefail
cd "$(dirname "$0")/../.."

# As in the help | what is called. --: it has no short form. try installs nothing, and wants another before it.
table() {
  cat << 'END'
demo | demo
gate | gate --seconds 3 --clients 20 --no-browser
test | test -R ^unit\.mutex$
try | try mutex
cluster test | cluster test -R cluster\.fence
cluster simulation | cluster simulation --seeds 5
cluster demo | cluster demo --clients 10 --no-browser
cluster plan | cluster plan
model | model 1
mutants | mutants async
stress | stress 1
chaos | chaos 1
torture | torture 1
torture alarms | torture alarms 1
asan | asan -R ^unit\.mutex$
tsan | tsan -R ^unit\.mutex$
aarch64 | aarch64 ^unit\.mutex$
bench | bench --quick --only ^mutex/ --percent 1
bench figures | --
bench bcs | bench bcs --quick
bench bypass | bench bypass --rounds 1 --percent 1
bench io | bench io --rounds 1 --milliseconds 50 --only echo-64-1
bench tls | bench tls --rounds 1 --milliseconds 50 --only resumed
bench gate | bench gate --rounds 1 --seconds 1 --warm 1
bench ways | bench ways --rounds 1 --percent 1
bench queue | bench queue --rounds 1 --percent 1
bench ring | bench ring 1
bench budget | bench budget 20
bench spins | bench spins 1
bench sight | bench sight --rounds 1 --percent 1
bench unpark | bench unpark
instructions | instructions
docs | docs
format | format --check
abi | abi
clean | clean
bare | bare true
deb | --
deb | deb --quick
deb | deb --update
scale | scale --only validation
scale io | scale io --only saturated-8
house | house
cases | cases
help | help
END
}

in_the_help() {
  ./x help | sed -En 's/^  ((cluster|bench|torture|scale) [a-z0-9]+|[a-z0-9]+)( .*)?$/\1/p'
}

fail() {
  echo "commands.sh: $1" >&2
  exit 2
}

order=(cat) only=. list=0
while (($#)); do
  case $1 in
    --reverse) order=(tac) ;;
    --only) only=${2:-} && shift ;;
    --list) list=1 ;;
    *) fail "what is $1?" ;;
  esac
  shift
done
difference=$(diff <(in_the_help) <(table | sed 's/ | .*//')) || fail "not as in ./x help: $difference"
mapfile -t lines < <(table | grep -E -- "$only" | "${order[@]}")

logs=$(mktemp -d)
failed=0 ran=0
for line in "${lines[@]}"; do
  read -ra words <<< "${line#* | }"
  if [[ ${words[0]} == -- ]]; then
    echo "left out: ${line% | *}: it has no short form"
    continue
  fi
  if ((list)); then echo "./x ${words[*]}" && continue; fi
  log=$logs/$ran started=$SECONDS code=0
  timeout --kill-after 60 14400 ./x "${words[@]}" > "$log" 2>&1 < /dev/null || code=$?
  ran=$((ran + 1))
  if ((code == 0)) && ! grep -qE 'Traceback|: command not found' "$log"; then
    echo "ok: ./x ${words[*]} ($((SECONDS - started)) s)"
  else
    failed=$((failed + 1))
    tail -n 40 "$log"
    echo "FAILED: ./x ${words[*]}: exit code $code ($((SECONDS - started)) s)"
  fi
done
echo "$ran commands, $failed failed"
((failed == 0))

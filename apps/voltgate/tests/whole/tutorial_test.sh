#!/usr/bin/env bash
# usage: tutorial_test.sh VOLTGATE
# Runs every command of docs/voltgate/tutorial.md, in order, with ports that are free, and checks what
# the page says of their output. Skipped without PostgreSQL 15.
set -euo pipefail
program=$(realpath "$1")
page=$(realpath "$(dirname "$0")/../../../../docs/voltgate/tutorial.md")
programs=/usr/lib/postgresql/15/bin # where Debian has them; or wherever they are found
if [[ ! -x $programs/initdb ]]; then programs=$(dirname "$(command -v initdb || echo none)"); fi
if [[ ! -x $programs/initdb ]] || ! command -v curl > /dev/null; then
  echo 'skipped: there is no PostgreSQL 15 (./x test fetches it), or no curl'
  exit 77
fi

scratch=$(mktemp -d)
as_user=()
if ((EUID == 0)); then # PostgreSQL does not run as root
  chown nobody "$scratch"
  as_user=(setpriv --reuid nobody --regid nogroup --clear-groups)
fi
# The script ends what it has started; what is left after a failure ends here.
finish() {
  if [[ -e $scratch/tutorial/data/postmaster.pid ]]; then
    "${as_user[@]}" "$programs/pg_ctl" -D "$scratch/tutorial/data" -m immediate stop \
      > /dev/null || true
  fi
  rm -rf "$scratch"
}
trap finish EXIT

# They are kept until this script has ended, also while a server is down.
coproc PORTS { exec python3 -B "$(dirname "$0")/../../../../tests/support/ports.py" 3; }
read -r database gate admin <&"${PORTS[0]}"

install -m 755 "$program" "$scratch/voltgate"
{
  echo 'set -eEuo pipefail'
  echo "cd $scratch && PATH=$scratch:\$PATH"
  # The commands that ask look at the default port.
  echo "voltgate() { case \$1 in top | limit | reload | status) command voltgate \"\$@\" --admin :$admin ;; *) exec_or_run \"\$@\" ;; esac; }"
  echo 'exec_or_run() { if ((BASH_SUBSHELL)); then exec voltgate "$@"; else command voltgate "$@"; fi; }'
  echo "trap 'echo \$LINENO > $scratch/line' DEBUG" # of the page's command, not of one in a function
  echo 'trap '\''kill ${gate:-} 2> /dev/null || true; tail -n 20 voltgate.log || true'\'' ERR'
  sed -n '/^```sh$/,/^```$/{/^```/!p}' "$page" | sed -E 's/^! (.*)$/if \1; then false; fi/'
} | sed -e "s/\b5433\b/$database/g; s/\b6432\b/$gate/g; s/:9090\b/:$admin/g" \
  -e "s#/usr/lib/postgresql/15/bin#$programs#g" > "$scratch/script"
# A smaller database that waits for no disk, fewer clients and shorter times show the same; a client that
# is to be served has longer to wait for it. Where a reader gives something a moment, the script waits
# until it has happened, and clients that sleep do so until they are told to end.
sed -i -E '
  s/-c (1|2)00 -j (1|2)00 -T 5/-c 12 -j 12 -T 1/
  s/-c 100 -j 100 -T 20/-c 12 -j 12 -T 2/
  s/ -s 10 postgres/ -s 1 postgres/
  s/-c max_connections=300/& -c fsync=off/
  s/queue-timeout( = | )2s/queue-timeout\15s/
  s/(.*pg_sleep\()6(.*)/\1600\2 sleepers+=" $!"/
  s/^sleep 1$/until happens; do sleep 0.05; done/
  s/^sleep 2$/until happens; do sleep 0.05; done/
  s/^sleep 5$/wakes; for i in $sleepers; do if wait $i; then false; fi; done/' "$scratch/script"
direct="psql -h 127.0.0.1 -p $database -U postgres -Atc"
sleeping="from pg_stat_activity where state = 'active' and starts_with(query, 'select pg_sleep')"
# What happens at each of them: clients wait, or the load was over before it was looked at; as many hold as
# may, or the same; both sleep; the server is back.
for seen in "voltgate status | grep -E ' [1-9][0-9]* of [0-9]+ wait' > /dev/null || ! kill -0 \$load" \
  "voltgate status | grep -E ' [0-2] of 2 permits held' > /dev/null" \
  "[[ \$($direct \"select count(*) $sleeping\") == 2 ]]" \
  "curl -s http://127.0.0.1:$admin/health | grep -v '^breaker' > /dev/null"; do
  sed -i "0,/until happens;/s%%until ${seen//&/\\&};%" "$scratch/script"
done
sed -i "s%^wakes;%$direct \"select pg_cancel_backend(pid) $sleeping\";%" "$scratch/script"

code=0
"${as_user[@]}" timeout 200 bash "$scratch/script" > "$scratch/output" 2>&1 || code=$?
if ((code != 0)); then
  failed="failed with $code: $(sed -n "$(< "$scratch/line")p" "$scratch/script")"
  { echo "$failed" && tail -n 40 "$scratch/output" && echo "$failed"; } >&2
  exit 1
fi

says() { # <extended regular expression>
  grep -qE "$1" "$scratch/output" ||
    { echo "nothing says: $1" && cat "$scratch/output" && echo "nothing says: $1" && exit 1; } >&2
}
says '^ PostgreSQL 15'
says '"name":"main","protocol":"postgres"'
says '"gate":"main","length":'
says '^voltgate_wait_seconds_count\{gate="main"\} [1-9]'
says 'voltgate: no permit within 5 s: 2 of 2 are held'
says 'voltgate: the server is away'
says '^breaker'
says '^it is back'
says "wrong.ini:9: limit: 'eight' is not allowed: want a number from 1 to 1000000"
says '^gate main: up, 0 of 12 permits held'
echo "$(grep -c '^```sh' "$page") blocks of commands ran"

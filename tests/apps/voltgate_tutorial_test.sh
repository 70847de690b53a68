#!/usr/bin/env bash
# usage: voltgate_tutorial_test.sh VOLTGATE
# Runs every command of docs/voltgate/tutorial.md, in order, with ports that are free, and checks what
# the page says of their output. Skipped without PostgreSQL 15.
set -euo pipefail
program=$(realpath "$1")
page=$(realpath "$(dirname "$0")/../../docs/voltgate/tutorial.md")
programs=/usr/lib/postgresql/15/bin # where Debian has them; or wherever they are found
if [[ ! -x $programs/initdb ]]; then programs=$(dirname "$(command -v initdb || echo none)"); fi
if [[ ! -x $programs/initdb ]] || ! command -v curl > /dev/null; then
  echo 'skipped: it needs PostgreSQL 15 and curl'
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

free_ports() { # <count>
  python3 -c 'import socket, sys
all = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in all))' "$1"
}
read -r database gate admin <<< "$(free_ports 3)"

install -m 755 "$program" "$scratch/voltgate"
{
  echo 'set -eEuo pipefail'
  echo "cd $scratch && PATH=$scratch:\$PATH"
  # The commands that ask look at the default port.
  echo "voltgate() { case \$1 in top | limit | reload | status) command voltgate \"\$@\" --admin :$admin ;; *) exec_or_run \"\$@\" ;; esac; }"
  echo 'exec_or_run() { if ((BASH_SUBSHELL)); then exec voltgate "$@"; else command voltgate "$@"; fi; }'
  echo 'trap '\''echo "failed: $BASH_COMMAND" >&2; kill ${gate:-} 2> /dev/null || true; cat voltgate.log >&2 || true'\'' ERR'
  sed -n '/^```sh$/,/^```$/{/^```/!p}' "$page" | sed -E 's/^! (.*)$/if \1; then false; fi/'
} | sed -e "s/\b5433\b/$database/g; s/\b6432\b/$gate/g; s/:9090\b/:$admin/g" \
  -e "s#/usr/lib/postgresql/15/bin#$programs#g" > "$scratch/script"
# A smaller database, fewer clients and shorter times show the same; and where a reader gives something
# a moment, the script waits until it has happened.
sed -i -E '
  s/-c (1|2)00 -j (1|2)00 -T 5/-c 20 -j 20 -T 1/
  s/-c 100 -j 100 -T 20/-c 20 -j 20 -T 3/
  s/ -s 10 postgres/ -s 1 postgres/
  s/(.*pg_sleep\()6(.*)/\15\2 sleepers+=" $!"/
  s/^sleep 1$/until happens; do sleep 0.05; done/
  s/^sleep 2$/sleep 0.1/
  s/^sleep 5$/wait $sleepers/' "$scratch/script"
# What happens at each "sleep 1": clients wait; both permits are held; the server is back.
for seen in "voltgate status | grep -qE ' [1-9][0-9]* of [0-9]+ wait'" \
  "voltgate status | grep -q ' 2 of 2 permits held'" \
  "curl -s http://127.0.0.1:$admin/health | grep -qv '^breaker'"; do
  sed -i "0,/until happens;/s%%until ${seen//&/\\&};%" "$scratch/script"
done

code=0
"${as_user[@]}" timeout 200 bash "$scratch/script" > "$scratch/output" 2>&1 || code=$?
if ((code != 0)); then
  cat "$scratch/output" >&2
  echo "a command of the tutorial failed: exit code $code" >&2
  exit 1
fi

says() { # <extended regular expression>
  grep -qE "$1" "$scratch/output" || { cat "$scratch/output"; echo "nothing says: $1"; exit 1; } >&2
}
says '^ PostgreSQL 15'
says '"name":"main","protocol":"postgres"'
says '"gate":"main","length":'
says '^voltgate_wait_seconds_count\{gate="main"\} [1-9]'
says 'voltgate: no permit within 2 s: 2 of 2 are held'
says 'voltgate: the server is away'
says '^breaker'
says '^it is back'
says "wrong.ini:9: limit: 'eight' is not allowed: want a number from 1 to 1000000"
says '^gate main: up, 0 of 12 permits held'
echo "$(grep -c '^```sh' "$page") blocks of commands ran"

#!/usr/bin/env bash
# Start PostgreSQL in a temporary directory, voltgate in front of it, and pgbench through it; open
# the page. All of it is on loopback, and ends with this script. ./x gate calls it.
set -euo pipefail

usage() {
  echo 'usage: ./x gate [--seconds N] [--clients N] [--limit N] [--no-browser]

Starts PostgreSQL in a temporary directory, voltgate in front of it, and pgbench: first straight to
PostgreSQL, then through voltgate. While it runs, look at the page, and change the limit there.

  --seconds N     how long pgbench runs through voltgate (60); 0: until Ctrl-C
  --clients N     clients of pgbench (200)
  --limit N       transactions at once (16)
  --no-browser    say where the page is, do not open it'
}

wrong() {
  echo "gate: $1" >&2
  exit 2
}

program='' check=0 seconds=60 clients=200 limit=16 browser=1
while (($#)); do
  case $1 in
    --program) program=$2 && shift ;;
    --check) check=1 ;; # the options only
    --seconds | --clients | --limit)
      [[ ${2:-} =~ ^(0|[1-9][0-9]{0,5})$ ]] || wrong "$1: '${2:-}' is no number"
      declare "${1#--}=$2" && shift
      ;;
    --no-browser) browser=0 ;;
    -h | --help) usage && exit ;;
    *) wrong "there is no option $1: see ./x gate --help" ;;
  esac
  shift
done
((clients >= 1 && clients <= 900)) || wrong "--clients: $clients: want 1 to 900"
((limit >= 1)) || wrong "--limit: $limit: want 1 or more"
if ((check)); then exit; fi

at=$(mktemp -d "${TMPDIR:-/tmp}/voltgate.XXXXXX")
running=() # process ids, in the order of their start
load=''    # that of pgbench, while it runs
finish() {
  local i
  trap - EXIT INT TERM
  if [[ -n $load ]]; then kill "$load" 2> /dev/null || true; fi
  for ((i = ${#running[@]} - 1; i >= 0; i--)); do
    kill -INT "${running[i]}" 2> /dev/null || true # PostgreSQL: a fast shutdown
  done
  wait || true
  rm -rf "$at"
}
trap finish EXIT
trap 'exit 130' INT TERM

as_user=() # PostgreSQL does not run as root
if ((EUID == 0)); then
  chmod 711 "$at"
  mkdir "$at/database"
  chown nobody "$at/database"
  as_user=(setpriv --reuid nobody --regid nogroup --clear-groups)
  initdb=$(command -v initdb)
  "${as_user[@]}" test -x "$initdb" ||
    wrong "PostgreSQL does not run as root, and the user nobody may not enter ${initdb%/*}: run this as another user"
else
  mkdir "$at/database"
fi

# The last lines of a log, and the end: of a program that has failed.
failed() { # <what> <log>
  echo "gate: $1; it says:" >&2
  tail -n 5 "$2" >&2
  exit 1
}

# The line of a log that says where something listens; fails if the process ends instead.
listening() { # <log> <pattern> <process id>
  local found
  for ((i = 0; i < 300; i++)); do
    found=$(sed -En "s/^.*$2.*\$/\1/p" "$1" 2> /dev/null | head -n 1) || true # it may not be there yet
    if [[ -n $found ]]; then
      echo "$found"
      return
    fi
    kill -0 "$3" 2> /dev/null || break
    sleep 0.1
  done
  cat "$1" >&2
  return 1
}

echo '== PostgreSQL'
"${as_user[@]}" initdb -D "$at/database/data" -U postgres -A trust --locale=C --no-sync > "$at/initdb.log"
"${as_user[@]}" postgres -D "$at/database/data" -c listen_addresses= -c "unix_socket_directories=$at/database" \
  -c max_connections=1000 -c shared_buffers=128MB > "$at/postgres.log" 2>&1 &
running+=($!)
listening "$at/postgres.log" 'database system is ready to (accept)' "${running[0]}" > /dev/null
direct=(-h "$at/database" -U postgres)
pgbench "${direct[@]}" -i -q -s 4 postgres > "$at/pgbench.log" 2>&1 ||
  failed 'pgbench could not make its tables' "$at/pgbench.log"

echo '== voltgate'
(umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' > "$at/token")
"$program" --listen 127.0.0.1:0 --to "unix:$at/database/.s.PGSQL.5432" --protocol postgres \
  --limit "$limit" --tenant-by user --metrics 127.0.0.1:0 --token-file "$at/token" 2> "$at/voltgate.log" &
running+=($!)
gate=$(listening "$at/voltgate.log" 'gate main: listening on ([0-9.:]+)' "${running[1]}")
page=$(listening "$at/voltgate.log" 'admin on ([0-9.:]+)' "${running[1]}")
cat << END
   page       http://$page/
   token      $(< "$at/token")      (to change the limit there)
   psql       psql -h 127.0.0.1 -p ${gate##*:} -U postgres
   terminal   $program top --admin $page
   limit      $program limit main 4 --admin $page --token-file $at/token
END
if ((browser)) && [[ -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] && command -v xdg-open > /dev/null; then
  xdg-open "http://$page/" > /dev/null 2>&1 || true
fi

# A thread for each client: pgbench must not block for one while another is in a transaction. It is
# waited for in the background, so that a signal ends this script at once.
run() { # <seconds> <where>...
  pgbench "${@:2}" -n -c "$clients" -j "$clients" -T "$1" -l --log-prefix="$at/log" postgres \
    > "$at/pgbench.out" 2> "$at/pgbench.log" &
  load=$!
  wait "$load" || failed 'pgbench has ended too early' "$at/pgbench.log"
  load=''
  sed -En 's/^tps = ([0-9.]+).*/   \1 transactions a second/p' "$at/pgbench.out"
  cat "$at"/log.* | awk '{ print $3 / 1000 }' | sort -n |
    awk '{ v[NR] = $1 } END { printf "   p50 %.0f ms, p99 %.0f ms\n", v[int(NR * .5) + 1], v[int(NR * .99) + 1] }'
  rm -f "$at"/log.*
}
echo "== pgbench, $clients clients, straight to PostgreSQL, 5 s"
run 5 "${direct[@]}"
echo "== pgbench, $clients clients, through voltgate (limit $limit), $( ((seconds)) && echo "$seconds s" || echo 'until Ctrl-C')"
run "$((seconds ? seconds : 86400))" -h 127.0.0.1 -p "${gate##*:}" -U postgres

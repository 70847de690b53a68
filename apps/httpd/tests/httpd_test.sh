#!/bin/bash
# httpd_test.sh PROGRAM [REFUSED]: httpd over the wire, with each back end: against slow and hostile
# clients, plain and by TLS (wire.py, https.py), and under load by wrk, ab, h2load and curl, those of them
# that are there.
#
# Prints a line per check: ok, FAILED or skipped with the reason. Exit code 0 if none failed.
set -u
export LC_ALL=C

[ $# -ge 1 ] || { echo "usage: $0 PROGRAM [REFUSED]" >&2; exit 2; }
program=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=apps/common/tests/checks.sh
. "$here/../../common/tests/checks.sh"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
scratch=$(mktemp -d)
server=
suites=() # that run
names=()
trap 'kill -KILL $server 2>/dev/null; kill "${suites[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT

# start OPTIONS...: leaves $server and $port.
start() {
  : >out # of the server before
  "$program" --listen 127.0.0.1:0 --workers 2 "$@" >out 2>err &
  server=$!
  local end=$((SECONDS + 60))
  until grep -q '^listening on ' out; do
    if [ $SECONDS -ge $end ] || ! kill -0 $server 2>/dev/null; then server= && return 1; fi
    sleep 0.02
  done
  port=$(sed -n 's/^listening on 127\.0\.0\.1://p' out)
}

stop() {
  kill -TERM $server
  wait $server
  # shellcheck disable=SC2034 # read by expect
  code=$?
  server=
  expect 0 "it ends with 0"
}

# status NAME: one counter.
status() { curl -s "http://127.0.0.1:$port/status" | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"; }

# comes_to NAME VALUE: a counter, once the server has seen what clients have done.
comes_to() {
  local end=$((SECONDS + 60))
  until [ "$(status "$1")" -eq "$2" ]; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}

test_options() {
  "$program" --help >out 2>err
  code=$?
  expect 0 "--help"
  check "says how it is used" grep -q '^usage: volt-httpd ' out
  local wrong
  for wrong in "" "--workers 0 ." "--workers x ." "--port 80 ." ". ." "--idle-s -1 ."; do
    # shellcheck disable=SC2086 # several options
    "$program" $wrong >out 2>err
    code=$?
    expect 2 "wrong usage: httpd $wrong"
  done
  "$program" --listen 127.0.0.1:0 /nowhere >out 2>err
  code=$?
  expect 1 "a root that is not there"
  check "is named" grep -q '^volt-httpd: /nowhere: ' err
  "$program" --listen 256.0.0.1:80 . >out 2>err
  code=$?
  expect 1 "an address that is none"
  start --status .
  "$program" --listen "127.0.0.1:$port" . >out2 2>err2
  code=$?
  expect 1 "an address that is in use"
  stop
}

# Run as a suite, in a directory of its own.
test_load() {
  failures=0
  trap 'kill -KILL $server 2>/dev/null' EXIT
  mkdir -p "$VOLT_IO/site"
  cd "$VOLT_IO" || exit 1
  head -c 1024 /dev/urandom >site/1k
  head -c 65536 /dev/urandom >site/64k
  start --hello --status --root site
  local url=http://127.0.0.1:$port name
  if command -v curl >/dev/null; then
    check "curl gets a file" cmp <(curl -s "$url/64k") site/64k
    check "and parts of it" cmp <(curl -s -r 1000-1999 "$url/64k") <(tail -c +1001 site/64k | head -c 1000)
    check "and sends a body" [ "$(curl -s -o /dev/null -w '%{http_code}' -d @site/64k "$url/1k")" = 405 ]
    check "and a long one, after asking" [ "$(curl -s -o /dev/null -w '%{http_code}' -X GET \
      -H 'Expect: 100-continue' -H 'Transfer-Encoding: chunked' --data-binary @site/64k "$url/1k")" = 200 ]
    check "the status is JSON" python3 -c 'import json, sys; json.loads(sys.argv[1])' \
      "$(curl -s "$url/status")"
  else
    skipped "curl" "it is not there"
  fi
  for name in hello 1k 64k; do
    if command -v wrk >/dev/null; then
      wrk -t 1 -c 32 -d 1s --timeout 60s "$url/$name" >wrk.out 2>&1
      check "wrk gets /$name" grep -Eq 'requests in' wrk.out
      check "and no error" [ "$(grep -cE 'Socket errors|Non-2xx' wrk.out)" -eq 0 ]
    else
      skipped "wrk /$name" "it is not there"
    fi
    if command -v ab >/dev/null; then
      ab -q -n 2000 -c 16 -k "$url/$name" >ab.out 2>&1
      check "ab gets /$name 2000 times" grep -Eq '^Failed requests: +0$' ab.out
      ab -q -n 500 -c 16 "$url/$name" >ab.out 2>&1
      check "and with a connection for each" grep -Eq '^Failed requests: +0$' ab.out
    else
      skipped "ab /$name" "it is not there"
    fi
    if command -v h2load >/dev/null; then
      h2load --h1 -n 2000 -c 16 -m 8 "$url/$name" >h2load.out 2>&1
      check "h2load gets /$name 2000 times" grep -q '2000 succeeded, 0 failed, 0 errored' h2load.out
    else
      skipped "h2load /$name" "it is not there"
    fi
  done
  if command -v curl >/dev/null; then
    check "no connection is left but curl's" comes_to connections 1
    check "no answer was an error of the server" [ "$(status responses_5xx)" -eq 0 ]
  fi
  stop
  [ "$failures" -eq 0 ]
}

# has_tls: whether the program has it; else it says what is left out.
has_tls() {
  if ! command -v openssl >/dev/null; then
    skipped "httpd by TLS" "there is no openssl, which makes keys"
    return 1
  fi
  "$program" --listen 127.0.0.1:0 --hello --tls /nowhere /nowhere >out 2>err
  if grep -q 'built without libvolt-tls' err; then
    skipped "httpd by TLS" "it was built without"
    return 1
  fi
}

# Suites mostly wait for time limits of the server. So all run side by side, each with servers of its own;
# what they say is printed in order.
begin_suite() { # <name> <command> [argument]...
  names+=("with VOLT_IO=$VOLT_IO: $1")
  "${@:2}" >"suite${#suites[@]}" 2>&1 &
  suites+=("$!")
}

end_suites() {
  local i
  for i in "${!suites[@]}"; do
    wait "${suites[i]}" || failures=$((failures + 1))
    echo "${names[i]}"
    cat "suite$i"
  done
  suites=()
}

cd "$scratch" || exit 1

test_options
has_tls && tls=yes || tls=no
for io in epoll uring; do
  export VOLT_IO=$io
  if ! start --status; then
    if [ $io = uring ]; then
      skipped "the back end uring" "$(cat err)"
    else
      failed "the back end epoll: $(cat err)"
    fi
    continue
  fi
  stop
  if [ "$tls" = yes ]; then # the longest first
    begin_suite "wire.py --tls" python3 -B "$here/wire.py" --tls "$program"
    begin_suite https.py python3 -B "$here/https.py" "$program"
  fi
  begin_suite wire.py python3 -B "$here/wire.py" "$program"
  begin_suite "under load" test_load
done
end_suites

[ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }
echo "all passed"

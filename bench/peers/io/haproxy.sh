#!/usr/bin/env bash
# HAProxy in the foreground, one thread, as a relay of TCP: haproxy.sh PORT TO_PORT
set -euo pipefail
usage='usage: haproxy.sh PORT TO_PORT'
port=${1:?$usage}
to=${2:?$usage}
here=$(mktemp -d "${BENCH_DIR:?}/haproxy.XXXXXX")
cat > "$here/haproxy.conf" << END
global
  nbthread 1
  maxconn 8000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen relay
  bind 127.0.0.1:$port
  server origin 127.0.0.1:$to
END
exec haproxy -q -db -f "$here/haproxy.conf"

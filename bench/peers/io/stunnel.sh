#!/usr/bin/env bash
# stunnel in the foreground, TLS 1.3 towards clients, plain towards a server: stunnel.sh PORT TO_PORT. The certificate
# is in $BENCH_DIR.
set -euo pipefail
usage='usage: stunnel.sh PORT TO_PORT'
port=${1:?$usage}
to=${2:?$usage}
here=$(mktemp -d "${BENCH_DIR:?}/stunnel.XXXXXX")
cat > "$here/stunnel.conf" << END
foreground = yes
pid =
debug = crit
syslog = no
socket = l:TCP_NODELAY=1
socket = r:TCP_NODELAY=1
[echo]
accept = 127.0.0.1:$port
connect = 127.0.0.1:$to
cert = $BENCH_DIR/tls.pem
key = $BENCH_DIR/tls.key
sslVersion = TLSv1.3
END
exec stunnel4 "$here/stunnel.conf"

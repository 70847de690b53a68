#!/usr/bin/env bash
# lighttpd in the foreground, one process, no log, serving $BENCH_DIR/www: lighttpd.sh PORT
set -euo pipefail
port=${1:?usage: lighttpd.sh PORT}
here=$(mktemp -d "${BENCH_DIR:?}/lighttpd.XXXXXX")
cat > "$here/lighttpd.conf" << END
server.port = $port
server.bind = "127.0.0.1"
server.document-root = "$BENCH_DIR/www"
server.event-handler = "linux-sysepoll"
server.max-fds = 20000
server.max-connections = 10000
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 3600
server.listen-backlog = 4096
END
program=$(command -v lighttpd)
exec "$program" -D -f "$here/lighttpd.conf" -m "${program%/sbin/*}/lib/lighttpd"

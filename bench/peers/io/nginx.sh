#!/usr/bin/env bash
# nginx in the foreground, one process, no log, serving $BENCH_DIR/www: nginx.sh PORT [cached] [tls]
# cached: it keeps files open, which is not its default. tls: by TLS, with the certificate in $BENCH_DIR.
set -euo pipefail
port=${1:?usage: nginx.sh PORT [cached] [tls]}
here=$(mktemp -d "${BENCH_DIR:?}/nginx.XXXXXX")
cached='' tls='' ssl=''
if [[ " ${*:2} " == *' cached '* ]]; then cached='open_file_cache max=1000 inactive=1h;'; fi
if [[ " ${*:2} " == *' tls '* ]]; then
  ssl=' ssl'
  tls="ssl_certificate $BENCH_DIR/tls.pem; ssl_certificate_key $BENCH_DIR/tls.key; ssl_protocols TLSv1.2 TLSv1.3;"
fi
cat > "$here/nginx.conf" << END
daemon off;
master_process off;
pid $here/pid;
error_log stderr crit;
worker_rlimit_nofile 20000;
events { worker_connections 16000; }
http {
  access_log off;
  sendfile on;
  keepalive_timeout 3600s;
  keepalive_time 3600s;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  client_body_temp_path $here/body;
  proxy_temp_path $here/proxy;
  fastcgi_temp_path $here/fastcgi;
  uwsgi_temp_path $here/uwsgi;
  scgi_temp_path $here/scgi;
  $cached
  server {
    listen 127.0.0.1:$port$ssl backlog=4096;
    $tls
    root $BENCH_DIR/www;
    location = /hello { return 200 "Hello, world!\n"; }
  }
}
END
exec nginx -p "$here" -e stderr -c "$here/nginx.conf"

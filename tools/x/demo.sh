# shellcheck shell=bash
## demo [DIR...]          build apps/treesum, hash /usr/include (or DIR...), check the result; build
##                        apps/httpd, serve a page once and fetch it
cmd_demo() {
  local list root
  for root in "$@"; do
    [[ $root != -* ]] || break # an option of treesum, which may take an argument
    [[ -e $root ]] || wrong "there is no $root"
  done
  need @demo
  build release treesum
  list=$(build_dir release)/treesum.sha256
  # fewer files open than there are jobs, so that the semaphore has something to do
  "$(build_dir release)/apps/treesum" --verify --open-files 3 --output "$list" "$@"
  echo "the list is in $list"
  if is_there liburing-dev; then demo_page; fi
  echo "smaller programs, to begin with: examples/README.md"
}

# Serve a page on loopback, and fetch it.
demo_page() {
  build release httpd
  (
    site=$(mktemp -d)
    echo '<h1>Served by volt</h1>' > "$site/index.html"
    coproc "$(build_dir release)/apps/volt-httpd" --listen 127.0.0.1:0 --root "$site"
    # shellcheck disable=SC2064 # its number now
    trap "kill $COPROC_PID; wait; rm -r '$site'" EXIT
    read -r _ _ address <&"${COPROC[0]}"
    exec 3<> "/dev/tcp/127.0.0.1/${address##*:}"
    printf 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    page=$(cat <&3)
    [[ $page == 'HTTP/1.1 200 OK'*'<h1>Served by volt</h1>' ]] || wrong "not the page: $page"
    echo "http://$address/ was served and fetched: ${page##*$'\n'}"
  )
}

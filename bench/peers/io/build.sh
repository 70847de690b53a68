#!/usr/bin/env bash
# Build the servers of others for the I/O benchmark, each from Debian's packages, offline.
#
# build.sh DIRECTORY PEER    where to; libuv, libevent, asio, go, go-tls, tokio or tokio-tls. Programs:
#                            DIRECTORY/bench-io-PEER, and what else a peer has of a name of its own
set -euo pipefail

usage='usage: build.sh DIRECTORY libuv|libevent|asio|go|go-tls|tokio|tokio-tls'
into=${1:?$usage}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=(-O2 -DNDEBUG -Wall -Wextra -Wshadow -D_GNU_SOURCE -I "$here/../../programs/io")
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$here"

c_program() { # <name> <source> <flag>...
  "${CC:-gcc}" -std=c11 "${flags[@]}" -o "$into/bench-io-$1" "$2" "${@:3}"
}

rust_program() { # <name> <directory>
  mkdir -p "$into/$2/.cargo"
  cp -r "$2"/{Cargo.toml,src} "$into/$2/"
  cd "$into/$2" # cargo looks for its configuration here
  rm -f Cargo.lock
  cat > .cargo/config.toml << END
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
END
  CARGO_TARGET_DIR=$PWD/target cargo build --offline --release --quiet
  cp "target/release/bench-io-$1" "$into/"
}

case ${2:-} in
  libuv)
    c_program libuv libuv.c -luv
    c_program libuv-cancel libuv_cancel.c -luv
    c_program libuv-files libuv_files.c -luv
    ;;
  libevent)
    c_program libevent libevent.c -levent
    c_program libevent-events libevent_events.c -levent
    ;;
  asio) "${CXX:-g++}" -std=c++17 "${flags[@]}" -o "$into/bench-io-asio" asio.cpp -pthread ;;
  go)
    GO111MODULE=off GOFLAGS=-mod= GOCACHE=$into/go-cache \
      go build -o "$into/bench-io-go" ./go/*.go
    ;;
  go-tls)
    GO111MODULE=off GOFLAGS=-mod= GOCACHE=$into/go-cache \
      go build -o "$into/bench-io-go-tls" ./go_tls/*.go
    ;;
  tokio) rust_program tokio tokio ;;
  tokio-tls) rust_program tokio-tls tokio_tls ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac

#!/usr/bin/env bash
# Build the workloads on Go: its standard library and golang.org/x/sync, as Debian packages them
# (golang-go, golang-golang-x-sync-dev 2> /dev/null) || xsync=unknown, offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-go
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

# x/sync has no version in its source: it is asked of its package.
# shellcheck disable=SC2016 # ${Version} is dpkg-query's
xsync=$(dpkg-query --show --showformat '${Version}' golang-golang-x-sync-dev 2> /dev/null) || xsync=unknown
GO111MODULE=off GOFLAGS=-mod= GOPATH=/usr/share/gocode GOCACHE=$into/cache \
  go build -ldflags "-X main.xsyncVersion=${xsync%-*}" -o "$into/bench-go" ./*.go

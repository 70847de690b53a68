#!/usr/bin/env bash
# Build the workloads of bench-chan on Go's channels, offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-chan-go
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
GO111MODULE=off GOFLAGS=-mod= GOCACHE=$into/cache go build -o "$into/bench-chan-go" main.go

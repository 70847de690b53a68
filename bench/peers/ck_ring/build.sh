#!/usr/bin/env bash
# Build the workload "pair" of bench-chan on Concurrency Kit's ring.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-chan-ck
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
"${CC:-gcc}" -O2 -Wall -Wextra "-DCK_VERSION_TEXT=\"$(pkg-config --modversion ck)\"" \
  -o "$into/bench-chan-ck" "$(dirname "${BASH_SOURCE[0]}")/main.c"

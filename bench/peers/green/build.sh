#!/usr/bin/env bash
# Build the workloads on a library whose threads all run on one thread of the system, as Debian
# packages it (libpth-dev, libst-dev), offline.
#
# build.sh DIRECTORY NAME    where to; pth or st; the program is DIRECTORY/bench-NAME
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY NAME}
name=${2:?usage: build.sh DIRECTORY NAME}
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

"${CC:-gcc}" -std=gnu11 -O2 -DNDEBUG -Wall -Wextra -o "$into/bench-$name" "$name.c" "-l$name"

#!/usr/bin/env bash
# Build the workloads on coroutines of a C++ library, as Debian packages it (libasio-dev), offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-asio
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

"${CXX:-g++}" -std=c++20 -O2 -DNDEBUG -DASIO_STANDALONE -Wall -Wextra -o "$into/bench-asio" asio.cpp -lpthread

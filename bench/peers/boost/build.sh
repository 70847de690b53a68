#!/usr/bin/env bash
# Build the workloads on Boost.Fiber, as Debian packages it (libboost-fiber-dev), offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-boost
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
into=$(cd "$into" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

# Functions of shared libraries are looked up at the start: on a fiber's stack, which is small, that
# would need more of it than the fiber does.
"${CXX:-g++}" -std=c++17 -O2 -DNDEBUG -Wall -Wextra -o "$into/bench-boost" ./*.cpp \
  -Wl,-z,now -lboost_fiber -lboost_context -lpthread

#!/usr/bin/env bash
# Build the workloads of bench-chan on Boost.Fiber's channel.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-chan-boost
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
mkdir -p "$into"
"${CXX:-g++}" -std=c++17 -O2 -DNDEBUG -Wall -Wextra -o "$into/bench-chan-boost" \
  "$(dirname "${BASH_SOURCE[0]}")/main.cpp" -lboost_fiber -lboost_context -lpthread

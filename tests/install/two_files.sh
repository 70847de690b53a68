#!/usr/bin/env bash
# What docs/two-files.md says works, as a person does it who has only the files: example 04 by one command to the
# letter, I/O, C++.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in cc c++ python3; do
  command -v $tool > /dev/null || { echo "skipped: there is no $tool" && exit 77; }
done
echo '#include <liburing.h>' | cc -E -x c - &> /dev/null || { echo 'skipped: there is no liburing' && exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
HOME=$scratch volt=$PWD tests/install/walk.sh docs/two-files.md

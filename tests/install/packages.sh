#!/usr/bin/env bash
# usage: packages.sh BUILD: where gate.sh has built voltgate and the libraries.
# All that cmake --install installs is in the Debian packages, each file in one of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake=${CMAKE:-cmake} build=$1
[[ -e $build/apps/voltgate/voltgate ]] || { echo "skipped: $build has no voltgate: install.gate builds it" && exit 77; }
[[ -e $build/libvolt-cluster.so ]] || { echo 'skipped: there is no libvolt-cluster here' && exit 77; }
[[ -e /etc/debian_version ]] || { echo "skipped: CMake installs libraries elsewhere than on Debian" && exit 77; }
command -v python3 > /dev/null || { echo 'skipped: there is no python3' && exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
step() {
  "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}
step "$cmake" -S . -B "$build" -DVOLT_MAN=ON
step "$cmake" --build "$build" # the manual pages; the rest is there
DESTDIR=$scratch/root step "$cmake" --install "$build"
python3 -B tools/debian.py --files "$scratch/root"

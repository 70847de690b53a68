#!/usr/bin/env bash
# usage: page.sh BUILD
# What docs/install.md says behind "Build and install" works: with the library that lib.sh has built in BUILD,
# and with a /usr/local and an /etc of the test's own. The whole page: ./x bare tests/install/walk.sh docs/install.md
set -euo pipefail
cd "$(dirname "$0")/../.."

# In a changed root the kernel knows no mount to make private, and there none may be shared.
private=(unshare --mount)
if ! "${private[@]}" true 2> /dev/null && ! grep -q ' shared:' /proc/self/mountinfo; then
  private+=(--propagation unchanged)
fi
if ((EUID != 0)) || ! "${private[@]}" true 2> /dev/null; then
  echo 'skipped: it takes root to have a /usr/local of its own' >&2
  exit 77
fi
command -v make > /dev/null || { echo 'skipped: there is no make' >&2; exit 77; }
[[ -e $1/libvolt-sync.so ]] || { echo "$1 has no library: install.lib builds it" >&2; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{home,volt/build,etc,local}
ln -s "$PWD/src" "$PWD/include" "$scratch/volt"
ln -s "$(readlink -f "$1")" "$scratch/volt/build/lib"
cp -a /etc/. "$scratch/etc" 2> /dev/null || true # what counts is the list of libraries
export HOME=$scratch/home volt=$scratch/volt
"${private[@]}" bash -euo pipefail -c '
  mount --bind "$1/local" /usr/local
  mount --bind "$1/etc" /etc
  cmake --install "$volt/build/lib" --prefix /usr/local > /dev/null
  ldconfig
  exec tests/install/walk.sh --from "A program in C" docs/install.md' page "$scratch"

#!/usr/bin/env bash
# usage: dynamic.sh LIBRARY...
# What the dynamic linker reads of a shared library: its name changes when the ABI may (with the
# minor version before 1.0, with the major one after), and what it needs is looked for beside it, in
# no directory that is named outright, nor in the current one (an empty entry). It needs libc and the
# libraries that it stands on, and no other: libvolt-io alone needs liburing, libvolt-cluster alone
# ZooKeeper's client, libvolt-tls alone OpenSSL.
set -euo pipefail
libraries=$(realpath "$@")
cd "$(dirname "$0")/../.."

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

version_of() { sed -nE "s/^#define VOLT_VERSION_$1 ([0-9]+)/\\1/p" include/volt/base.h; }
abi=$(version_of MAJOR)
if ((abi == 0)); then abi=0.$(version_of MINOR); fi

of() { # <tag>: what is in its brackets, a line each
  readelf -d "$library" | sed -nE "s/.*\\(($1)\\).*\\[(.*)\\]$/\\2/p"
}

of_libc='libc|libpthread|ld-linux[-a-z0-9_]*|ld-musl[-a-z0-9_]*'
declare -A stands_on=(
  [libvolt-sync]=$of_libc
  [libvolt-rt]="$of_libc|libvolt-sync"
  [libvolt-io]="$of_libc|libvolt-sync|libvolt-rt|liburing"
  [libvolt-cluster]="$of_libc|libvolt-sync|libvolt-rt|libvolt-io|libzookeeper_st"
  [libvolt-tls]="$of_libc|libvolt-sync|libvolt-rt|libvolt-io|libssl|libcrypto"
)

stray() { # <library as it is shipped>: what it needs and must not; of volt, what is of another build
  of NEEDED | sed -E "s/^(libvolt-[a-z]+)$suffix\\.so/\\1.so/;t;s/^libvolt-/& of another build: /" |
    grep -vE "^(${stands_on[$1]})\\.so(\\.|$)"
}

for library in $libraries; do
  name=${library##*/}
  name=${name%%.so*}.so.$abi
  [[ $(of SONAME) == "$name" ]] || fail "$library: SONAME is $(of SONAME), not $name"
  while read -r needed; do
    [[ $needed != libvolt-* || $needed == libvolt-*.so."$abi" ]] || fail "$library needs $needed"
  done < <(of NEEDED)
  shipped=${name%%.so*}
  shipped=${shipped%-sight}
  shipped=${shipped%-debug}
  suffix=${name%%.so*}
  suffix=${suffix#"$shipped"}
  ! stray "$shipped" || fail "$library needs what is above"
  [[ $name != libvolt-io* ]] || stray libvolt-rt > /dev/null || fail 'the check misses liburing'
  path=$(of 'RPATH|RUNPATH')
  [[ -z $path || $path == '$ORIGIN' ]] || fail "$library: RUNPATH is '$path'"
  echo "$name"
done

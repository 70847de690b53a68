#!/usr/bin/env bash
# usage: packages.sh DIRECTORY, in a Debian of its own: ./x bare, which ./x deb calls.
# DIRECTORY has the packages of this checkout, as ./x deb --quick makes them. They are built once more, under another
# path, time zone, language and mask, without tests: the bytes are the same. An older version is installed and
# upgraded: what an administrator has changed stays. They are purged: no file and no user is left. At last autopkgtest
# installs them and runs debian/tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$(realpath "$1")
for file in tools/x/shared/*.sh tools/x/deb.sh; do
  # shellcheck source=/dev/null
  . "$file"
done
export DEBIAN_FRONTEND=noninteractive

scratch=$(mktemp -d)
again=$scratch/a/second/place
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf 'packages.sh: %s\n' "$@" >&2
  exit 1
}

step() {
  "$@" > "$scratch/log" 2>&1 || fail "$*" "$(cat "$scratch/log")"
}

installs() { step apt-get install -y --no-install-recommends "$@"; }

# ---- the same bytes ----

built_again() {
  local name other different=0
  (
    umask 002
    export TZ=Pacific/Kiritimati LC_ALL=C HOME=/nonexistent DEB_BUILD_OPTIONS=nocheck
    deb_build "$again" --build=binary
  )
  for name in "$packages"/*.deb; do
    other=$again/${name##*/}
    if cmp -s "$name" "$other"; then continue; fi
    different=$((different + 1))
    mkdir "$scratch"/{one,other}
    dpkg-deb -R "$name" "$scratch/one"
    dpkg-deb -R "$other" "$scratch/other"
    diff -rq "$scratch/one" "$scratch/other" >&2 || true
    rm -r "$scratch"/{one,other}
  done
  ((different == 0)) || fail "$different packages differ: see above"
  echo "built twice: $(find "$packages" -name '*.deb' | wc -l) packages are the same, byte for byte"
}

# ---- installed, upgraded, purged ----

# The same as an older version, where it was built: what was compiled is not compiled again.
build_older() { # <directory>
  rm -rf "$1"/*.deb "$1"/volt/debian/{.debhelper,tmp,files}
  rm -f "$1"/volt/debian/*.debhelper.log "$1"/volt/debian/debhelper-build-stamp
  sed -i '1s/)/~before)/' "$1/volt/debian/changelog"
  DEB_BUILD_OPTIONS=nocheck deb_run "$1" --build=binary --no-pre-clean
}

ours() { find "$1" -name '*.deb' ! -name '*-dbgsym_*'; }

names() { ours "$packages" | sed 's,.*/,,; s/_.*//'; }

# What they depend on and is not of them.
foreign() {
  local package
  for package in $(ours "$packages"); do dpkg-deb -f "$package" Pre-Depends Depends; done |
    sed 's/^[A-Za-z-]*: //' | tr ',' '\n' | sed 's/^ *//' | grep -vE '^(libvolt|volt)' | sort -u | paste -sd,
}

# All files but those in which dpkg and apt keep what they know, and all users and groups.
inventory() {
  {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /home -o -path /tmp -o -path /var/tmp \
      -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log/apt \) -prune -o -print
    cut -d: -f1,3 /etc/passwd /etc/group
  } | sort
}

version_is() { # <version>
  local name has
  for name in $(names); do
    # shellcheck disable=SC2016 # dpkg-query's
    has=$(dpkg-query --show --showformat '${db:Status-Status} ${Version}' "$name")
    [[ $has == "installed $1" ]] || fail "$name: $has, not $1"
  done
}

installed_and_purged() { # <directory with an older version>
  local version user older
  version=$(dpkg-parsechangelog -S Version)
  mapfile -t older < <(ours "$1")
  step apt-get satisfy -y --no-install-recommends "$(foreign)"
  inventory > "$scratch/before"
  installs "${older[@]}"
  version_is "$version~before"
  user=$(id voltgate)
  echo '; an administrator was here' >> /etc/voltgate.ini
  mkdir -p /var/log/voltgate && touch /var/log/voltgate/access.log # as by the unit
  mapfile -t older < <(ours "$packages")
  installs "${older[@]}"
  version_is "$version"
  [[ $(id voltgate) == "$user" ]] || fail "the user was $user, and is $(id voltgate)"
  grep -q '^; an administrator' /etc/voltgate.ini || fail 'an upgrade has changed /etc/voltgate.ini'
  dpkg --audit > "$scratch/log"
  # shellcheck disable=SC2046 # several names
  dpkg --verify $(names) >> "$scratch/log" || true
  [[ $(grep -v ' c /etc/voltgate.ini$' "$scratch/log") == '' ]] || fail "$(cat "$scratch/log")"
  echo "installed: $(inventory | comm -13 "$scratch/before" - | wc -l) files; upgraded to $version"
  # shellcheck disable=SC2046 # several names
  step dpkg --purge $(names)
  inventory > "$scratch/after"
  diff "$scratch/before" "$scratch/after" || fail 'that is left, or is missing, after a purge'
  echo 'purged: nothing is left'
}

# ---- debian/tests ----

tested() {
  local code=0
  autopkgtest "$packages"/*.changes -- null > "$scratch/log" 2>&1 || code=$?
  ((code == 0)) || fail "autopkgtest: exit code $code" "$(tail -n 80 "$scratch/log")"
  sed -n '/@@@* summary/,$p' "$scratch/log"
}

built_again
build_older "$again"
installed_and_purged "$again"
installs autopkgtest
tested
installs "$packages"/{libvolt-doc,volt-tools,voltgate}_*.deb postgresql procps # what deb_booted tries

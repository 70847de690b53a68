#!/usr/bin/env bash
# usage: gate.sh [DIRECTORY]: where it builds. What lib.sh has compiled there is not compiled again.
# voltgate, built by VOLT_GATE and installed below a DESTDIR, alone and with the libraries: the program,
# its manual page, its units and its example, which are looked at. Without libinih and OpenSSL it is
# skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake=${CMAKE:-cmake}
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

step() {
  "$@" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
}

if ! pkg-config --exists inih openssl 'liburing >= 2.3'; then
  echo 'skipped: it needs libinih, OpenSSL and liburing'
  exit 77
fi
build=${1:-$scratch/build} root=$scratch/root
# -O0: what is looked at is the same, and the release preset compiles it as shipped.
step "$cmake" -S . -B "$build" -DVOLT_GATE=ON -DVOLT_MAN=OFF -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O0
step "$cmake" --build "$build"
DESTDIR=$scratch/alone step "$cmake" --install "$build" --component voltgate
count=$(find "$scratch/alone" -type f | wc -l)
((count == 7)) || fail "the component voltgate has $count files, not 7"
DESTDIR=$root step "$cmake" --install "$build"

program=$root/usr/bin/voltgate
page=$root/usr/share/man/man8/voltgate.8
example=$root/usr/share/voltgate/voltgate.ini
service=$root/usr/lib/systemd/system/voltgate.service
for file in "$program" "$page" "$example" "$service" "${service%.service}.socket"; do
  [[ -f $file ]] || fail "${file#"$root"} was not installed"
done
[[ -x $program ]] || fail 'the program cannot be run'
for path in "$PWD" "$scratch"; do
  found=$(grep -rlF -- "$path" "$program" "$page" "$service" || true)
  [[ -z $found ]] || fail "the build path $path is in" "$found"
done

grep -qx 'voltgate [0-9.]*' <<< "$("$program" --version)" || fail '--version'
grep -q '^  --queue-timeout TIME ' <<< "$("$program" --help)" || fail '--help'
step "$program" check --config "$example"
sed 's/^limit = 16/limit = 0/' "$example" > "$scratch/wrong.ini"
code=0
"$program" check --config "$scratch/wrong.ini" 2> "$scratch/log" || code=$?
((code == 2)) || fail "a wrong configuration: exit code $code"
line=$(grep -n '^limit = 0' "$scratch/wrong.ini" | cut -d: -f1)
grep -qF "wrong.ini:$line: limit: '0' is not allowed: want a number from 1 to 1000000" "$scratch/log" ||
  fail 'a wrong configuration:' "$(cat "$scratch/log")"

if command -v mandoc > /dev/null; then
  mandoc -T lint "$page" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
fi
grep -q '^ExecStart=/usr/bin/voltgate run --config /etc/voltgate.ini$' "$service" ||
  fail 'the unit starts something else'
config=$(sed -n 's/^AssertPathExists=//p' "$service") # which is not installed: the unit says so
[[ $config = /etc/voltgate.ini && ! -e $root$config ]] || fail "the unit asks for '$config'"
grep -q "^# .*copy /usr/share/voltgate/voltgate.ini" "$service" || fail 'the unit does not name the example'
if command -v systemd-analyze > /dev/null; then # the program is not where the unit looks for it
  mkdir "$scratch/units"
  sed "s,/usr/bin/voltgate,$program," "$service" > "$scratch/units/voltgate.service"
  cp "${service%.service}.socket" "$scratch/units"
  step systemd-analyze verify --man=no "$scratch"/units/voltgate.{service,socket}
  found=$(grep -E 'voltgate\.(service|socket)' "$scratch/log" || true)
  [[ -z $found ]] || fail "$found"
fi
echo "voltgate: $(find "$root" -type f | wc -l) files were installed"

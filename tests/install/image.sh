#!/usr/bin/env bash
# The image of the Containerfile, built where podman, buildah or docker can build one and has, or fetches, the image
# of Debian that it begins with. In it voltgate runs as its own user with the file that is there, and says that it is
# healthy.
set -euo pipefail
cd "$(dirname "$0")/../.."

builder=
for tool in podman buildah docker; do
  if command -v $tool > /dev/null && timeout 60 $tool info > /dev/null 2>&1; then builder=$tool && break; fi
done
[[ -n $builder ]] || { echo 'skipped: neither podman nor buildah nor docker builds images here' && exit 77; }
base=$(sed -n 's/^FROM \(\S*\)$/\1/p' Containerfile)
timeout 300 $builder pull "$base" > /dev/null 2>&1 || $builder inspect "$base" > /dev/null 2>&1 ||
  { echo "skipped: $builder has no $base, and cannot fetch it" && exit 77; }

scratch=$(mktemp -d)
image=volt-test-$$ container=
can_build() { printf 'FROM %s\nRUN true\n' "$base" | timeout 300 $builder build -t "$image" -f - "$scratch"; }
finish() {
  if [[ -n $container ]]; then buildah rm "$container" > /dev/null; fi
  $builder rmi "$image" > /dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap finish EXIT
can_build > "$scratch/log" 2>&1 || { echo "skipped: $builder cannot run a command in $base here" && exit 77; }
$builder build -t "$image" -f Containerfile . > "$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2 && exit 1; }

# shellcheck disable=SC2016 # expanded inside
trial='
  set -e
  [ "$(id -un)" = voltgate ]
  voltgate --version
  voltgate run --config /etc/voltgate.ini &
  tries=0
  until voltgate status --admin 127.0.0.1:9090 > /dev/null 2>&1; do
    tries=$((tries + 1)); [ "$tries" -lt 600 ]; kill -0 $!; sleep 0.1
  done
  echo healthy
  kill $!
  wait $!'
if [[ $builder == buildah ]]; then
  container=$(buildah from "$image")
  buildah run --network none "$container" -- sh -c "$trial"
else
  $builder run --rm --network none --entrypoint sh "$image" -c "$trial"
fi
echo "an image, built and run by $builder"

#!/usr/bin/env bash
# The files of a release are the same, byte for byte, each time they are made; and a release says why it cannot be.
set -euo pipefail
cd "$(dirname "$0")/../.."
git rev-parse --quiet --verify HEAD > /dev/null 2>&1 || { echo 'skipped: this is no checkout of git' && exit 77; }
for file in tools/x/shared/*.sh tools/x/release.sh; do
  # shellcheck source=/dev/null
  . "$file"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
release_files 9.9.9 "$scratch/first"
sleep 1.1 # a time in it would differ
release_files 9.9.9 "$scratch/second"
diff -r "$scratch/first" "$scratch/second" || { echo 'two releases differ' >&2 && exit 1; }
for name in volt-9.9.9.tar.gz volt.h volt.c volt.hpp volt.wrap; do
  grep -q "  $name\$" "$scratch/first/volt-9.9.9.sha256" || { echo "a release has no $name" >&2 && exit 1; }
done
names=$(tar -tzf "$scratch/first/volt-9.9.9.tar.gz")
for name in volt-9.9.9/x volt-9.9.9/include/volt/volt.h volt-9.9.9/LICENSE; do
  grep -qxF "$name" <<< "$names" || { echo "the archive has no $name" >&2 && exit 1; }
done

reasons=$(VOLT_BUILD_SUFFIX=-of-nobody release_refused 9.9.9)
for reason in 'include/volt/base.h says 0' "CHANGELOG.md has no '## 9.9.9 - DATE'" 'debian/changelog is of' 'nothing is built'; do
  grep -qF "$reason" <<< "$reasons" || { echo "not among the reasons: $reason: $reasons" >&2 && exit 1; }
done
echo "an archive of $(wc -l <<< "$names") files, twice; $(wc -l <<< "$reasons") reasons not to release it"

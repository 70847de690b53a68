#!/usr/bin/env bash
# volt as a subproject of a program that is built with Meson, as docs/packages.md says: the archive and the wrap of a
# release. Static, shared, and shared with all checks; programs are run. Meson compiles all sources of src/, and
# the shared libraries export what CMake's do.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in meson ninja; do
  command -v $tool > /dev/null || { echo "skipped: there is no $tool" && exit 77; }
done
for file in tools/x/shared/*.sh tools/x/release.sh; do
  # shellcheck source=/dev/null
  . "$file"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
project=$scratch/project version=$(release_version)

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

step() {
  "$@" > "$scratch/log" 2>&1 || fail "$*" "$(cat "$scratch/log")"
}

mkdir -p "$project/subprojects/packagefiles"
cp tests/install/consumer/{main,tasks,pipe,host,context}.c "$project"
cat > "$project/meson.build" << 'END'
project('consumer', 'c', default_options: ['c_std=c11'])
needs = {'main': 'volt-sync', 'tasks': 'volt-rt', 'pipe': 'volt-io', 'host': 'volt-cluster',
  'context': 'volt-tls'}
foreach name, library : needs
  volt = dependency(library, required: library in ['volt-sync', 'volt-rt'])
  if volt.found()
    executable(name, name + '.c', dependencies: volt)
  endif
endforeach
END
archive=$project/subprojects/packagefiles/volt-$version.tar.gz
this_checkout | tar -x --one-top-level="$scratch/volt-$version"
tar -C "$scratch" -cz "volt-$version" > "$archive"
release_wrap "$version" "$archive" > "$project/subprojects/volt.wrap"

built() { # <directory> "<program>..." <option of meson>...
  local programs name
  read -ra programs <<< "$2"
  step meson setup --buildtype plain "$1" "$project" "${@:3}"
  step meson compile -C "$1" "${programs[@]}"
  for name in "${programs[@]}"; do "$1/$name"; done
  echo "${1##*/}: ${#programs[@]} programs"
}

libraries_of() { readelf -d "$1" | sed -nE 's/.*NEEDED.*\[(libvolt[^]]*)\].*/\1/p' | sort | paste -sd' '; }

programs='main tasks'
if pkg-config --exists 'liburing >= 2.3'; then programs+=' pipe'; fi
if [[ $programs == *pipe && -e /usr/include/zookeeper/zookeeper.h ]]; then programs+=' host'; fi
if [[ $programs == *pipe* ]] && pkg-config --exists 'openssl >= 3'; then programs+=' context'; fi
built "$scratch/shared" "$programs" --default-library shared
soversion=$(sed -nE 's/^libvolt-sync\.so\.(\S+) .*/\1/p' debian/libvolt-sync*.symbols)
[[ $(libraries_of "$scratch/shared/main") == "libvolt-sync.so.$soversion" ]] ||
  fail "shared: $(libraries_of "$scratch/shared/main")"
built "$scratch/static" 'main tasks' --default-library static
[[ -z $(libraries_of "$scratch/static/tasks") ]] || fail "static: $(libraries_of "$scratch/static/tasks")"
built "$scratch/checked" main --default-library shared -Dvolt:debug_checks=true
[[ $(libraries_of "$scratch/checked/main") == "libvolt-sync-debug.so.$soversion" ]] ||
  fail "with checks: $(libraries_of "$scratch/checked/main")"

mapfile -t shared < <(find "$scratch/shared/subprojects/volt-$version" -name 'libvolt-*.so')
tests/compile/exports.sh "${shared[@]}"
if ((${#shared[@]} == 5)); then # all that they need is here
  meson introspect --targets "$scratch/shared" | tr '"' '\n' |
    sed -n "s,.*/volt-$version/\(src/.*\.c\)$,\1,p" | sort -u > "$scratch/compiled"
  find src -name '*.c' | sort | diff - "$scratch/compiled" || fail 'Meson compiles other sources than CMake'
fi
echo "Meson: $(meson --version), volt $version"

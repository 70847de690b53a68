# shellcheck shell=bash
## release VERSION        the source archive of this commit, build/release-archive/volt-VERSION.tar.gz, and beside it the
##                        files of ./x amalgamate and a wrap for Meson, with the checksums of all; refuses unless the
##                        ledger of proofs, the pages of results and the changelogs are of this commit
cmd_release() {
  local version=${1:-} directory=build/release-archive reasons=()
  at_most 1 "$@"
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || wrong "not a version: '$version'"
  mapfile -t reasons < <(release_refused "$version")
  if ((${#reasons[@]})); then
    printf 'x: release: %s\n' "${reasons[@]}" >&2
    return 1
  fi
  release_files "$version" "$directory"
  cat "$directory/volt-$version.sha256"
}

# All that a release has.
release_files() { # <version> <directory>
  mkdir -p "$2"
  release_archive "$1" > "$2/volt-$1.tar.gz"
  python tools/amalgamate.py "$2"
  release_wrap "$1" "$2/volt-$1.tar.gz" > "$2/volt.wrap"
  (cd "$2" && sha256sum "volt-$1.tar.gz" volt.{h,c,hpp,wrap} > "volt-$1.sha256")
}

# What Meson finds the archive by, in subprojects/packagefiles, and what the archive has: docs/packages.md.
release_wrap() { # <version> <archive>
  cat << END
[wrap-file]
directory = volt-$1
source_filename = volt-$1.tar.gz
source_hash = $(sha256sum < "$2" | cut -d' ' -f1)

[provide]
dependency_names = volt-sync, volt-rt, volt-io, volt-cluster, volt-tls
END
}

release_version() {
  sed -n 's/^#define VOLT_VERSION_[A-Z]* \([0-9]*\)$/\1/p' include/volt/base.h | paste -sd.
}

# The same bytes each time: git takes the times from the commit, gzip none.
release_archive() { # <version>
  git archive --format=tar "--prefix=volt-$1/" HEAD | gzip -9n
}

# A line for each reason.
release_refused() { # <version>
  local has
  git rev-parse --quiet --verify HEAD > /dev/null 2>&1 || { echo 'this is no checkout of git' && return; }
  [[ -z $(git status --porcelain) ]] || echo 'there are changes that are not committed'
  has=$(release_version)
  [[ $has == "$1" ]] || echo "include/volt/base.h says $has"
  grep -Eq "^## ${1//./\\.} - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || echo "CHANGELOG.md has no '## $1 - DATE'"
  [[ $(head -n 1 debian/changelog) == "volt ($1) "* ]] || echo 'debian/changelog is of another version'
  python tools/results | awk '!/of these sources/ { print "bench/results/" $1 " is of older sources" }'
  if [[ -d $(build_dir dev) ]]; then
    python tools/prove status "$(build_dir dev)" | awk -F ' *[|] *' '
      $2 ~ /not on these sources$/ && $3 != "0" { print "the ledger: " $2 ": " $3 }
      $3 == "not on these sources" { print "the ledger: " $2 " " $3 }
      $2 == "models searched for less" && $3 != "0" { print "the ledger: " $2 ": " $3 }'
  else
    echo 'nothing is built: ./x prove'
  fi
}

# shellcheck shell=bash
## aarch64 [REGEX]        cross build; unit, stress, app and example tests, or some, under qemu-user
cmd_aarch64() {
  at_most 1 "$@"
  need @aarch64
  unpack_arm64 build/aarch64-root libcmocka-dev libcmocka0 libssl-dev libssl3 liburing-dev liburing2 \
    libzookeeper-st-dev libzookeeper-st2
  export VOLT_TEST_SECONDS=${VOLT_TEST_SECONDS:-2}
  build aarch64
  ctest --preset aarch64 -j2 ${1:+-R "$1"}
}

# Packages of Debian for arm64, found in package lists of their own and unpacked there: nothing that
# is installed changes.
unpack_arm64() { # <directory> <package>...
  if [[ -e $1/complete && $(< "$1/complete") == "${*:2}" ]]; then return; fi
  ! no_install || wrong "--no-install: the libraries for aarch64 are not in $1"
  has_command apt-get || give_up "there is no apt-get to fetch arm64 packages" "${@:2}"
  local root=$PWD/$1 package
  local lists=$root.apt
  local apt=(apt-get -q -o "Dir::State=$lists" -o Dir::State::status=/dev/null
    -o "Dir::Cache=$lists" -o APT::Architecture=arm64 -o APT::Architectures=arm64)
  mkdir -p "$root" "$lists/lists/partial" "$lists/archives/partial"
  "${apt[@]}" update >&2
  (cd "$lists" && "${apt[@]}" download "${@:2}" >&2)
  for package in "$lists"/*.deb; do dpkg-deb -x "$package" "$root"; done
  rm -r "$lists"
  echo "${*:2}" > "$root/complete"
}

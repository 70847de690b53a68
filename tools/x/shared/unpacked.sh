# shellcheck shell=bash
# Make a program callable that its package would start as a service, without an installation.
# Returns whether it is there.
daemon() { # <program> <packages, in one word> <library's package>...
  local package wanted
  read -ra wanted <<< "$2"
  daemons_in_path "$PWD/build/daemons"
  if has_command "$1"; then return; fi
  for package in "${@:3}"; do
    # shellcheck disable=SC2016 # ${Status} is dpkg-query's
    [[ $(dpkg-query --show --showformat '${Status}' "$package" 2> /dev/null) == *' ok installed' ]] ||
      wanted+=("$package")
  done
  unpack "$1" "${wanted[@]}" || return
  daemons_in_path "$PWD/build/daemons" # directories have come
  has_command "$1"
}

# The same of ZooKeeper's servers, which are jars: tests/cluster/zookeeper_kit.py starts them.
zookeeper() {
  local jars=usr/share/java
  if ! has_command java; then
    echo 'x: ZooKeeper is left out: there is no Java (./x test and ./x cluster install it)' >&2
    return 1
  fi
  if [[ -e /$jars/zookeeper.jar || -e build/daemons/$jars/zookeeper.jar ]]; then return; fi
  unpack ZooKeeper "${zookeeper_packages[@]}"
}

# Unpack packages below build/daemons.
unpack() { # <what they are for> <package>...
  local package into=$PWD/build/daemons
  mkdir -p "$into"/{libraries,packages,usr/lib}
  if ! download "$into/packages" "${@:2}"; then
    echo "x: $1 is left out: it cannot be fetched: ${*:2}" >&2
    return 1
  fi
  for package in "$into"/packages/*.deb; do dpkg-deb -x "$package" "$into"; done
  find "$into/usr/lib" -name '*.so.*' -exec ln -sf -t "$into/libraries" {} +
  rm -r "$into/packages"
}

daemons_in_path() { # <directory>
  local root place
  for root in "$1" ''; do
    for place in "$root"/usr/{sbin,bin,lib/postgresql/*/bin}; do
      if [[ -d $place && :$PATH: != *:$place:* ]]; then PATH=$PATH:$place; fi
    done
  done
  if [[ :${LD_LIBRARY_PATH:-}: != *:$1/libraries:* ]]; then
    LD_LIBRARY_PATH=$1/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
  export PATH LD_LIBRARY_PATH
}

download() { # <directory> <package>...
  has_command apt-get || return 1
  (cd "$1" && apt-get download "${@:2}" >&2) ||
    { as_root apt-get update >&2 && (cd "$1" && apt-get download "${@:2}" >&2); }
}

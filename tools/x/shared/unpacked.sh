# shellcheck shell=bash
# Programs that their packages would start as services: they are not installed but unpacked below
# build/daemons, with those of the packages behind the bar that are not there.
declare -A daemons=(
  [postgres]='postgresql-15 postgresql-client-15 | libicu72 libldap-2.5-0 liblz4-1 libpam0g libpq5
    libreadline8 libxml2 libzstd1'
  [redis-server]='redis-server redis-tools | libatomic1 libjemalloc2 liblzf1 libssl3 libsystemd0'
  [haproxy]='haproxy | libcrypt1 liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 libpcre2-8-0 libssl3
    libsystemd0'
  [pgbouncer]='pgbouncer | libc-ares2 libevent-2.1-7 libpam0g libssl3 libsystemd0'
  [nginx]='nginx | libcrypt1 libpcre2-8-0 libssl3 zlib1g'
  [stunnel4]='stunnel4 | libssl3 libsystemd0 libwrap0'
  [lighttpd]='lighttpd | libcrypt1 libnettle8 libpcre2-8-0 libxxhash0'
)
zookeeper_packages=(libzookeeper-java libslf4j-java libsnappy-java libdropwizard-metrics-java) # jars

# Make one of them callable. Returns whether it is there.
daemon() { # <program>
  local package wanted
  read -ra wanted <<< "${daemons[$1]%|*}"
  daemons_in_path "$PWD/build/daemons"
  if has_command "$1"; then return; fi
  # shellcheck disable=SC2086 # a list of packages
  for package in ${daemons[$1]#*|}; do
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
  if no_install; then
    echo "x: $1 is missing: left out: what wants it (--no-install: nothing is fetched)" >&2
    return 1
  fi
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

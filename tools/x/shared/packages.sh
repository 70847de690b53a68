# shellcheck shell=bash
# What a command needs, by Debian package, and how it comes.

declare -A lists=( # @NAME is what the list NAME has
  [build]='gcc g++ libc6-dev binutils cmake ninja-build pkg-config'
  [model]='@build +relacy-dev python3'
  [demo]='@build libcmocka-dev libssl-dev liburing-dev'
  [run]='@demo libinih-dev libseccomp-dev libjansson-dev libzookeeper-st-dev'
  [test]='@run relacy-dev clang libclang-rt-dev python3 mandoc musl-tools gdb strace make curl wrk apache2-utils
    nghttp2-client libpq-dev openssl gnutls-bin sslscan testssl.sh tzdata valgrind bpftrace default-jre-headless gnuplot-nox libuv1-dev
    libglib2.0-dev libevent-dev libev-dev libasio-dev libboost-dev libdw-dev meson socat python3-psycopg2 python3-asyncpg'
  [page]='chromium' # 195 MB, of three tests that are skipped without it
  [aarch64]='binutils cmake ninja-build pkg-config python3 g++-aarch64-linux-gnu libc6-dev-arm64-cross
    qemu-user'
  [bench]='@run python3 gnuplot-nox valgrind'
  [rust]='cargo rustc librust-tokio-dev librust-tokio-util-dev librust-async-lock-dev
    librust-async-channel-dev librust-flume-dev librust-parking-lot-dev librust-crossbeam-channel-dev
    librust-crossbeam-utils-dev librust-futures-lite-dev librust-libc-dev'
  [go]='golang-go golang-golang-x-sync-dev'
  [gate]='@run +liburing-dev +libinih-dev libpq-dev tzdata python3'
  [deb]='@build libcmocka-dev libinih-dev libjansson-dev libseccomp-dev libssl-dev liburing-dev libzookeeper-st-dev
    libdw-dev python3 build-essential debhelper lintian'
  [cluster]='@gate +libzookeeper-st-dev +default-jre-headless'
)

# What is left out where a package is missing and may not be installed. Without those that are not here,
# or that stand as +PACKAGE in a list, the command cannot run.
declare -A left_out=(
  [relacy-dev]='the models and their mutants'
  [liburing-dev]='libvolt-io, libvolt-cluster, libvolt-tls, voltgate, programs and tests that use them'
  [libssl-dev]='libvolt-tls, voltgate, programs and tests that use them'
  [libinih-dev]='voltgate and its tests'
  [libseccomp-dev]='the filter of system calls in voltgate'
  [libjansson-dev]="voltgate's commands that ask a running voltgate"
  [libzookeeper-st-dev]='libvolt-cluster and its tests'
  [libpq-dev]='programs and tests that are clients of PostgreSQL by libpq'
  [libclang-rt-dev]="clang's sanitizers"
  [clang]='what clang compiles'
  [musl-tools]='the library on musl'
  [gdb]='tests in a debugger'
  [valgrind]='tests under Valgrind, and counts of instructions'
  [bpftrace]='the scripts of bpftrace'
  [strace]='signals at a moment that strace holds open'
  [socat]='socat as a client of permits'
  [python3-psycopg2]='logins by psycopg2 through a gate with TLS'
  [python3-asyncpg]='logins by asyncpg through a gate with TLS'
  [mandoc]='what mandoc says of the manual pages'
  [make]='the page about installing, as a test'
  [curl]="curl as a client of httpd, and voltgate's tutorial as a test"
  [libnsync-dev]="nsync's mutex, beside which others are measured"
  [wrk]='wrk as a client of httpd'
  [apache2-utils]='ab as a client of httpd'
  [nghttp2-client]='h2load as a client of httpd'
  [openssl]='tests of TLS, which make keys'
  [gnutls-bin]='GnuTLS as a peer of libvolt-tls'
  [sslscan]='what sslscan finds of servers with libvolt-tls'
  [testssl.sh]='what testssl.sh finds of servers with libvolt-tls'
  [tzdata]='time zones of the PostgreSQL that is unpacked'
  [default-jre-headless]='tests with real ZooKeepers'
  [gnuplot-nox]='plots'
  [libuv1-dev]='the bridge to libuv'
  [libglib2.0-dev]='the bridge to GLib'
  [libevent-dev]='the bridge to libevent'
  [libev-dev]='the bridge to libev'
  [libasio-dev]='waits in Asio: their tests and example'
  [libboost-dev]='volt/asio.hpp compiled with Boost'
  [libdw-dev]='names of functions and lines in what volt-run says'
  [meson]='volt as a subproject of Meson'
  [chromium]='tests of pages in a browser'
)

has_command() { command -v "$1" > /dev/null; }
has_c_header() { has_command gcc && echo "#include <$1>" | gcc -fsyntax-only -x c - 2> /dev/null; }
has_library() { has_command gcc && echo 'int main(void) { return 0; }' | gcc -x c - -o /dev/null "-l$1" 2> /dev/null; }
has_cxx_header() { has_command g++ && echo "#include <$1>" | g++ -E -x c++ - &> /dev/null; }

# Whether what is used of a package is there, wherever it came from.
is_there() {
  case $1 in
    g++) has_cxx_header atomic ;;
    libc6-dev) has_c_header linux/futex.h && has_c_header stdio.h ;;
    binutils) has_command nm && has_command readelf ;;
    ninja-build) has_command ninja ;;
    relacy-dev) has_cxx_header relacy/relacy_std.hpp ;;
    libcmocka-dev) has_command pkg-config && pkg-config --exists cmocka ;;
    liburing-dev) has_command pkg-config && pkg-config --exists 'liburing >= 2.3' ;;
    libssl-dev) has_c_header openssl/evp.h ;;
    libinih-dev) has_command pkg-config && pkg-config --exists inih ;;
    libzookeeper-st-dev) has_c_header zookeeper/zookeeper.h ;;
    libjansson-dev) has_command pkg-config && pkg-config --exists jansson ;;
    libseccomp-dev) has_command pkg-config && pkg-config --exists libseccomp ;;
    libpq-dev) has_command pkg-config && pkg-config --exists libpq ;;
    tzdata) [[ -e /usr/share/zoneinfo/UTC ]] ;;
    g++-aarch64-linux-gnu) has_command aarch64-linux-gnu-g++ ;;
    libc6-dev-arm64-cross) [[ -e /usr/aarch64-linux-gnu/include/stdio.h ]] ;;
    qemu-user) has_command qemu-aarch64 ;;
    libnsync-dev) has_c_header nsync_mu.h ;;
    librust-*-dev)
      local crate=${1#librust-}
      crate=${crate%-dev}
      compgen -G "/usr/share/cargo/registry/${crate//-/[-_]}-[0-9]*" > /dev/null
      ;;
    golang-go) has_command go ;;
    libboost-fiber-dev) has_library boost_fiber ;; # libboost-dev has its headers
    libpth-dev) has_c_header pth.h ;;
    libst-dev) has_c_header st.h ;;
    libasio-dev) has_cxx_header asio.hpp ;;
    libck-dev) has_c_header ck_ring.h ;;
    libtbb-dev) has_cxx_header oneapi/tbb/mutex.h ;;
    libabsl-dev) has_cxx_header absl/synchronization/mutex.h ;;
    libconcurrentqueue-dev) has_cxx_header concurrentqueue/lightweightsemaphore.h ;;
    golang-golang-x-sync-dev) [[ -d /usr/share/gocode/src/golang.org/x/sync/semaphore ]] ;;
    libuv1-dev) has_command pkg-config && pkg-config --exists libuv ;;
    libevent-dev) has_c_header event2/bufferevent.h ;;
    libglib2.0-dev) has_command pkg-config && pkg-config --exists glib-2.0 ;;
    libev-dev) has_c_header ev.h ;;
    libdw-dev) has_command pkg-config && pkg-config --exists libdw ;;
    libboost-dev) has_cxx_header boost/asio.hpp ;;
    libclang-rt-dev) has_command clang && compgen -G "$(clang -print-runtime-dir)/*.asan*" > /dev/null ;;
    gnuplot-nox) has_command gnuplot ;;
    musl-tools) has_command musl-gcc ;;
    util-linux) has_command unshare ;;
    xz-utils) has_command xz ;;
    redis-tools) has_command redis-benchmark ;;
    debhelper) has_command dh ;;
    # shellcheck disable=SC2016 # ${Status} is dpkg-query's
    build-essential) [[ $(dpkg-query -W -f '${Status}' "$1" 2> /dev/null) == *' ok installed' ]] ;;
    systemd-container) has_command systemd-nspawn ;;
    default-jre-headless) has_command java ;;
    apache2-utils) has_command ab ;;
    nghttp2-client) has_command h2load ;;
    testssl.sh) has_command testssl || has_command testssl.sh ;;
    python3-?*) /usr/bin/python3 -c "import ${1#python3-}" 2> /dev/null ;;
    gnutls-bin) has_command gnutls-cli && has_command gnutls-serv ;;
    *) has_command "$1" ;;
  esac
}

# The names of these packages, @LIST being what that list has.
packages_of() { # <package, +package or @list>...
  local word
  for word in "$@"; do
    # shellcheck disable=SC2086 # a list is several words
    case $word in
      @*) packages_of ${lists[${word#@}]} ;;
      *) echo "$word" ;;
    esac
  done
}

give_up() { # <reason> <package>...
  echo "x: $1. Please install what is missing yourself: apt-get install ${*:2}" >&2
  exit 1
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

no_install() { [[ -n ${VOLT_NO_INSTALL:-} ]]; } # ./x --no-install

# Install what is missing of these packages; do nothing at all if nothing is. With --no-install: say what is
# left out for want of them, and end if the command cannot run without one.
need() { # <package, +package or @list>...
  local missing vital
  look_for "$@"
  ((${#missing[@]})) || return 0
  if no_install; then
    go_without
    return
  fi
  echo "x: missing: ${missing[*]}" >&2
  ((${#vital[@]})) || echo 'x: with --no-install it goes on without' >&2
  has_command apt-get || give_up "this is no Debian, there is no apt-get" "${missing[@]}"
  ((EUID == 0)) || has_command sudo || give_up "neither root nor sudo" "${missing[@]}"
  as_root apt-get update >&2 || give_up "apt-get update failed (offline, or not allowed?)" "${missing[@]}"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" >&2 ||
    give_up "apt-get install failed" "${missing[@]}"
  look_for "$@"
  ((${#missing[@]} == 0)) || give_up "installed, and still not found" "${missing[@]}"
}

# The same, where each is needed: of a rival, which does not run in part.
need_all() { # <package or @list>...
  local -A left_out=()
  need "$@"
}

# What of these is not there: missing; and of that vital, without which the command cannot run.
look_for() { # <package, +package or @list>...
  local word words package
  missing=() vital=()
  words=$(packages_of "$@") || exit
  for word in $words; do
    package=${word#+}
    if is_there "$package"; then continue; fi
    [[ " ${missing[*]} " == *" $package "* ]] || missing+=("$package")
    [[ $word != +* && -n ${left_out[$package]:-} ]] || vital+=("$package")
  done
}

go_without() {
  local package
  for package in "${missing[@]}"; do
    if [[ " ${vital[*]} " != *" $package "* ]]; then
      echo "x: $package is missing: left out: ${left_out[$package]}" >&2
    fi
  done
  ((${#vital[@]} == 0)) || give_up "--no-install: it cannot be done without ${vital[*]}" "${vital[@]}"
}

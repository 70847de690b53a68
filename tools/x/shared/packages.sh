# shellcheck shell=bash
# What a command needs, by Debian package, and how it comes.

build_needs=(gcc g++ libc6-dev binutils cmake ninja-build pkg-config)
model_needs=("${build_needs[@]}" relacy-dev python3)
demo_needs=("${build_needs[@]}" libcmocka-dev libssl-dev liburing-dev)
run_needs=("${demo_needs[@]}" libinih-dev libseccomp-dev libjansson-dev libzookeeper-st-dev)
test_needs=("${run_needs[@]}" relacy-dev clang libclang-rt-dev python3 mandoc musl-tools gdb
  make curl wrk apache2-utils nghttp2-client libpq-dev openssl tzdata valgrind bpftrace
  default-jre-headless gnuplot-nox libuv1-dev libglib2.0-dev libevent-dev libev-dev)
aarch64_needs=(binutils cmake ninja-build pkg-config python3 g++-aarch64-linux-gnu libc6-dev-arm64-cross
  qemu-user)
arm64_libraries=(libcmocka-dev libcmocka0 libssl-dev libssl3 liburing-dev liburing2
  libzookeeper-st-dev libzookeeper-st2) # not installed
page_needs=(chromium) # 195 MB, of three tests that are skipped without it
bare_needs=(mmdebstrap util-linux)
bench_needs=("${run_needs[@]}" python3 gnuplot-nox valgrind)
rust_needs=(cargo rustc librust-tokio-dev librust-tokio-util-dev librust-async-lock-dev
  librust-async-channel-dev librust-flume-dev librust-parking-lot-dev librust-crossbeam-channel-dev
  librust-crossbeam-utils-dev librust-futures-lite-dev librust-libc-dev)
go_needs=(golang-go golang-golang-x-sync-dev)
io_needs=("${run_needs[@]}" python3 wrk)
gate_needs=("${run_needs[@]}" libpq-dev tzdata python3)
cluster_needs=("${gate_needs[@]}" default-jre-headless)

# Programs that their packages would start as services: they are not installed but unpacked, with
# those of their libraries that are not there.
postgres_packages=('postgresql-15 postgresql-client-15' libicu72 libldap-2.5-0 liblz4-1 libpam0g libpq5
  libreadline8 libxml2 libzstd1)
redis_packages=('redis-server redis-tools' libatomic1 libjemalloc2 liblzf1 libssl3 libsystemd0)
haproxy_packages=(haproxy libcrypt1 liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
  libpcre2-8-0 libssl3 libsystemd0)
pgbouncer_packages=(pgbouncer libc-ares2 libevent-2.1-7 libpam0g libssl3 libsystemd0)
zookeeper_packages=(libzookeeper-java libslf4j-java libsnappy-java libdropwizard-metrics-java) # jars

has_command() { command -v "$1" > /dev/null; }
has_c_header() { has_command gcc && echo "#include <$1>" | gcc -fsyntax-only -x c - 2> /dev/null; }
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
    libboost-fiber-dev) has_cxx_header boost/fiber/all.hpp ;;
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
    libboost-dev) has_cxx_header boost/asio.hpp ;;
    libclang-rt-dev) has_command clang && compgen -G "$(clang -print-runtime-dir)/*.asan*" > /dev/null ;;
    gnuplot-nox) has_command gnuplot ;;
    musl-tools) has_command musl-gcc ;;
    util-linux) has_command unshare ;;
    default-jre-headless) has_command java ;;
    apache2-utils) has_command ab ;;
    nghttp2-client) has_command h2load ;;
    *) has_command "$1" ;;
  esac
}

missing_of() { # <package>...
  local package
  for package in "$@"; do
    is_there "$package" || printf '%s ' "$package"
  done
}

give_up() { # <reason> <package>...
  echo "x: $1. Please install what is missing yourself: apt-get install ${*:2}" >&2
  exit 1
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Install what is missing of these packages; do nothing at all if nothing is.
need() { # <package>...
  local missing
  read -ra missing <<< "$(missing_of "$@")"
  ((${#missing[@]})) || return 0
  echo "x: missing: ${missing[*]}" >&2
  has_command apt-get || give_up "this is no Debian, there is no apt-get" "${missing[@]}"
  ((EUID == 0)) || has_command sudo || give_up "neither root nor sudo" "${missing[@]}"
  as_root apt-get update >&2 || give_up "apt-get update failed (offline, or not allowed?)" "${missing[@]}"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" >&2 ||
    give_up "apt-get install failed" "${missing[@]}"
  read -ra missing <<< "$(missing_of "$@")"
  ((${#missing[@]} == 0)) || give_up "installed, and still not found" "${missing[@]}"
}

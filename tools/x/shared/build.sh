# shellcheck shell=bash
# Building and running, by the presets.

if [[ -n ${CC:-} ]]; then
  case $CC in
    *clang*) export CXX=${CXX:-${CC/clang/clang++}} ;;
    *gcc*) export CXX=${CXX:-${CC/gcc/g++}} ;;
  esac
  export VOLT_BUILD_SUFFIX=-${CC##*/}
fi
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

build_dir() { # <preset>
  echo "build/$1${VOLT_BUILD_SUFFIX:-}"
}

configure() { # <preset> [option]...
  local log
  log=$(cmake --preset "$@" 2>&1) || { echo "$log" >&2; exit 1; }
}

build() { # <preset> [target]...
  configure "$1"
  cmake --build --preset "$1" ${2:+--target "${@:2}"} >&2
}

# A Python program, which never ends in a traceback.
python() { # <file> [argument]...
  python3 -B tests/support/plainly.py "$@"
}

# Its help; or, where there is no Python yet, that of ./x bench.
help_by() { # <file> <option>...
  if has_command python3; then
    python "$@"
  else
    help_of bench
    echo '  and, once python3 is installed: the same again'
  fi
}

# ThreadSanitizer of gcc 12 and clang 14 wants the address space less random than newer kernels
# make it.
tsan_run() {
  local bits=0
  if [[ -r /proc/sys/vm/mmap_rnd_bits ]]; then bits=$(< /proc/sys/vm/mmap_rnd_bits); fi
  if ((bits > 28)) && setarch -R true 2> /dev/null; then setarch -R "$@"; else "$@"; fi
}

# What the tests themselves say, and ctest's verdicts; not how ctest was told to run them.
only_reports() {
  sed -En '
    /^[0-9]+: (Test command|Working Directory|Environment variables|Test timeout)/d
    /^[0-9]+:  [A-Z_]+=/d
    s/^[0-9]+: //p
    /Test +#|tests passed|tests FAILED|\((Failed|Timeout|SEGFAULT|Subprocess aborted)\)$/p'
}

# This checkout, as it is, without what was built, as an archive.
this_checkout() {
  if has_command git && [[ -e .git ]]; then
    git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=-
  else
    tar -c --exclude=./build --exclude=./results .
  fi
}

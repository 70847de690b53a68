#!/usr/bin/env bash
# What a first configuration has not found, because it was not installed, the next one finds in the same build
# directory: ./x cluster demo after ./x demo. First the system's libraries are hidden, then they are there;
# what can be built then is what can be built in a new directory.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in cmake ninja; do
  command -v $tool > /dev/null || { echo "skipped: there is no $tool" && exit 77; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
arch=$(${CC:-cc} -print-multiarch 2> /dev/null || true)
hidden=/usr/include:/usr/local/include:/usr/lib:/lib:/usr/local/lib${arch:+:/usr/lib/$arch:/lib/$arch:/usr/include/$arch}

targets() { # <directory> [option]...
  cmake -G Ninja -S . -B "$scratch/$1" -DVOLT_BUILD_MODELS=ON -DVOLT_BUILD_EXAMPLES=ON -DVOLT_TOP=OFF \
    "${@:2}" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
  cmake --build "$scratch/$1" --target help | sed -n 's/^\([a-z0-9_.]*\): phony$/\1/p' | sort
}

whole=$(targets new)
without=$(PKG_CONFIG_LIBDIR=$scratch targets again "-DCMAKE_IGNORE_PATH=${hidden//:/;}")
again=$(targets again -UCMAKE_IGNORE_PATH)
for library in volt_io_static volt_cluster_static volt_tls_static model_library; do
  if [[ $whole != *$library* ]]; then
    echo "$library: skipped: what it needs is not here"
  elif [[ $without == *$library* ]]; then
    echo "$library is built although what it needs was hidden" >&2
    exit 1
  fi
done
diff <(echo "$whole") <(echo "$again") || { echo 'not looked for again (<: only in a new directory)' >&2 && exit 1; }
echo "$(wc -l <<< "$again") targets, $(wc -l <<< "$without") of them without the system's libraries"

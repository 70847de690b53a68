#!/usr/bin/env bash
# Build the workloads of bench-rt on Tokio, from Debian's packages and nothing else, offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-rt-tokio
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
registry=/usr/share/cargo/registry # what librust-*-dev install

mkdir -p "$into/.cargo"
cp -r "$(dirname "${BASH_SOURCE[0]}")"/{Cargo.toml,src} "$into/"
cat > "$into/.cargo/config.toml" << END
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "$registry"
END
cd "$into" # cargo looks for its configuration here
CARGO_TARGET_DIR=$PWD/target cargo build --offline --release --quiet
cp target/release/bench-rt-tokio .

#!/usr/bin/env bash
# Build the workloads of bench-chan on Rust's channels, from Debian's packages and nothing else,
# offline.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-chan-rust
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
registry=/usr/share/cargo/registry # what librust-*-dev install
here=$(dirname "${BASH_SOURCE[0]}")

mkdir -p "$into/.cargo"
cp -r "$here"/{Cargo.toml,src} "$into/"
cp "$here/../tokio/src/cpu.rs" "$into/src/"
cat > "$into/.cargo/config.toml" << END
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "$registry"
END
cd "$into" # cargo looks for its configuration here
cargo generate-lockfile --offline --quiet

version_of() { # <crate>
  sed -n "/^name = \"$1\"\$/{n;s/^version = \"\(.*\)\"\$/\1/p}" Cargo.lock
}
export VERSION_ASYNC_CHANNEL VERSION_CROSSBEAM VERSION_FLUME VERSION_TOKIO
VERSION_ASYNC_CHANNEL=$(version_of async-channel)
VERSION_CROSSBEAM=$(version_of crossbeam-channel)
VERSION_FLUME=$(version_of flume)
VERSION_TOKIO=$(version_of tokio)
CARGO_TARGET_DIR=$PWD/target cargo build --offline --release --quiet
cp target/release/bench-chan-rust .

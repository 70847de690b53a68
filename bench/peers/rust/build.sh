#!/usr/bin/env bash
# Build the Rust peers from Debian's packages and nothing else, offline. Debian's own cargo will do.
#
# build.sh DIRECTORY    where to; the program is DIRECTORY/bench-rust
set -euo pipefail

into=${1:?usage: build.sh DIRECTORY}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
registry=/usr/share/cargo/registry # what librust-*-dev install

mkdir -p "$into/bench-rust-build/.cargo"
into=$(cd "$into" && pwd)
cd "$into/bench-rust-build" # cargo looks for its configuration here
rm -rf src Cargo.lock
cp -r "$here"/{Cargo.toml,build.rs,src} .
cat > .cargo/config.toml << END
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "$registry"
END
CARGO_TARGET_DIR=$PWD/target cargo build --offline --release --quiet
cp target/release/bench-rust "$into/"

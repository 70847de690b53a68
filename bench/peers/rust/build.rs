//! Tells the program the versions of what it measures, as cargo has resolved them.

use std::process::Command;
use std::{env, fs};

const CRATES: [&str; 7] = [
    "async-channel",
    "async-lock",
    "crossbeam-channel",
    "flume",
    "parking_lot",
    "tokio",
    "tokio-util",
];

/// The version that follows the name of a crate in Cargo.lock.
fn version_of<'a>(lock: &'a str, name: &str) -> &'a str {
    let named = format!("name = \"{name}\"\nversion = \"");
    let start = lock.find(&named).expect(name) + named.len();
    let rest = &lock[start..];
    &rest[..rest.find('"').expect(name)]
}

/// The standard library has the version of the compiler: the second word of `rustc 1.63.0`.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").expect("RUSTC");
    let out = Command::new(rustc).arg("--version").output();
    let text = String::from_utf8(out.expect("rustc").stdout).expect("rustc --version");
    let version = text.split_whitespace().nth(1).expect("rustc --version");
    version.to_string()
}

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    for name in CRATES {
        let variable = name.replace('-', "_").to_uppercase();
        let version = version_of(&lock, name);
        println!("cargo:rustc-env=VERSION_{variable}={version}");
    }
    println!("cargo:rustc-env=VERSION_RUSTC={}", compiler());
}

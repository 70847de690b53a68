//! Rust's peers in the workloads of ../../README.md. Tasks run on Tokio's runtime, as its
//! documentation sets it up: tasks/. Plain threads: threads/.

mod options;
mod outcome;
mod process;
mod tasks;
mod threads;

use std::process::exit;

use options::{refuse, Options};
use outcome::Outcome;

const ON_TOKIO: &str = concat!(", on tokio ", env!("VERSION_TOKIO"));
const FLUME: &str = concat!("flume ", env!("VERSION_FLUME"));

/// The version of what the engine is made of.
fn version(engine: &str) -> String {
    match engine {
        "tokio" => concat!("tokio ", env!("VERSION_TOKIO")).to_string(),
        "tokio-util" => concat!("tokio-util ", env!("VERSION_TOKIO_UTIL")).to_string() + ON_TOKIO,
        "async-lock" => concat!("async-lock ", env!("VERSION_ASYNC_LOCK")).to_string() + ON_TOKIO,
        "async-channel" => {
            concat!("async-channel ", env!("VERSION_ASYNC_CHANNEL")).to_string() + ON_TOKIO
        }
        "flume" => FLUME.to_string() + ON_TOKIO,
        "parking_lot" | "parking_lot-fair" => {
            concat!("parking_lot ", env!("VERSION_PARKING_LOT")).to_string()
        }
        "std" => concat!("Rust std ", env!("VERSION_RUSTC")).to_string(),
        "crossbeam" => concat!("crossbeam-channel ", env!("VERSION_CROSSBEAM_CHANNEL")).to_string(),
        "flume-threads" => FLUME.to_string(),
        _ => refuse(&format!("no engine {engine}")),
    }
}

/// A panic of any thread or task: what was counted does not add up, or the system refuses.
fn fail_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("bench-rust: {info}");
        exit(1)
    }));
}

fn main() {
    let o = Options::parse();
    let version = version(&o.engine);
    fail_on_panic();
    let outcome: Option<Outcome> = tasks::run(&o).or_else(|| threads::run(&o));
    match outcome {
        Some(outcome) => outcome.print(&version),
        None => refuse(&format!("{} has no workload {}", o.engine, o.workload)),
    }
}

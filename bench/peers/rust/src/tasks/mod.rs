//! Tasks on Tokio's multi-thread runtime, and what they contend for.
//!
//! Futures of one library have other types than those of another, and cannot be named in a trait
//! without a box. So the loops are written once, and included for each engine: engines.rs.

mod crew;
mod engines;
mod family;
mod runtime;

use crossbeam_utils::CachePadded;
use tokio::runtime::{Builder, Runtime};

use crate::options::Options;
use crate::outcome::Outcome;
use engines::{async_channels, async_locks, flumes, mpsc, tokens, tokio_sync};

fn runtime(o: &Options) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(o.workers);
    if o.workload == "timer" {
        builder.enable_time();
    }
    builder.build().expect("runtime")
}

/// For the whole life of the process, so that tasks can share it without counting references; in
/// cache lines of its own.
fn keep<T>(object: T) -> &'static T {
    Box::leak(Box::new(CachePadded::new(object)))
}

/// None if it is no engine of tasks, or has no such workload.
pub fn run(o: &Options) -> Option<Outcome> {
    let engine: fn(&Runtime, &Options) -> Option<Outcome> = match o.engine.as_str() {
        "tokio" => |rt, o| {
            let outcome = tokio_sync::run(rt, o).or_else(|| runtime::run(rt, o));
            let outcome = outcome.or_else(|| mpsc::channels::run(rt, o));
            let outcome = outcome.or_else(|| family::alone::run(rt, o));
            let outcome = outcome.or_else(|| family::one_waits::run(rt, o));
            outcome.or_else(|| family::rounds::run(rt, o))
        },
        "tokio-util" => tokens::run,
        "async-lock" => async_locks::run,
        "async-channel" => async_channels::channels::run,
        "flume" => flumes::channels::run,
        _ => return None,
    };
    engine(&runtime(o), o)
}

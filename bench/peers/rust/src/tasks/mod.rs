//! Tasks on Tokio's multi-thread runtime, and what they contend for.
//!
//! Futures of one library have other types than those of another, and cannot be named in a trait
//! without a box. So the loops are written once, and included for each engine: engines.rs.

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

/// Some tasks that begin together and are awaited together.
mod crew {
    use std::future::Future;
    use std::time::Instant;

    use tokio::runtime::Runtime;

    use crate::options::Options;
    use crate::outcome::{Outcome, Pass, Span};
    use crate::process::cpu_ns;

    async fn timed<F: Future>(work: F) -> (Span, F::Output) {
        let start = Instant::now();
        let result = work.await;
        ((start, Instant::now()), result)
    }

    /// A task of the runtime spawns and joins them: the main thread would have to wake the workers.
    pub fn crew<I, W>(rt: &Runtime, works: I) -> Pass<W::Output>
    where
        I: ExactSizeIterator<Item = W> + Send + 'static,
        W: Future + Send + 'static,
        W::Output: Send,
    {
        let cpu_before = cpu_ns();
        let root = rt.spawn(async move {
            let mut spans = Vec::with_capacity(works.len());
            let mut results = Vec::with_capacity(works.len());
            let tasks: Vec<_> = works.map(|work| tokio::spawn(timed(work))).collect();
            for task in tasks {
                let (span, result) = task.await.expect("a task");
                spans.push(span);
                results.push(result);
            }
            (spans, results)
        });
        let (spans, results) = rt.block_on(root).expect("the root task");
        let cpu_ns = cpu_ns() - cpu_before;
        Pass {
            spans,
            results,
            cpu_ns,
        }
    }

    /// o.tasks tasks, first for an eighth of the operations, which does not count. `member` makes the
    /// work of a task from its number and its operations.
    pub fn run_members<F, W>(rt: &Runtime, o: &Options, member: F) -> Outcome
    where
        F: Fn(usize, u64) -> W + Copy + Send + 'static,
        W: Future + Send + 'static,
        W::Output: Send,
    {
        let pass = |operations| crew(rt, (0..o.tasks).map(move |i| member(i, operations)));
        pass(o.warm_up());
        pass(o.operations).outcome(o.operations * o.tasks as u64)
    }
}

//! Of the runtime itself: yield, spawn, timer.

use std::time::{Duration, Instant};

use futures_lite::future::poll_once;
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::crew::{crew, run_members};
use crate::options::Options;
use crate::outcome::{Outcome, Pass};
use crate::process::cpu_ns;

fn yields(rt: &Runtime, o: &Options) -> Outcome {
    run_members(rt, o, |_, operations| async move {
        for _ in 0..operations {
            yield_now().await;
        }
    })
}

async fn batches(tasks: usize, operations: u64) {
    let mut handles = Vec::with_capacity(tasks);
    let mut sum = 0;
    for _ in 0..operations {
        for i in 0..tasks {
            handles.push(tokio::spawn(async move { i as u64 }));
        }
        for handle in handles.drain(..) {
            sum += handle.await.expect("a task");
        }
    }
    let count = tasks as u64;
    assert_eq!(sum, operations * (count * (count - 1) / 2), "the sum");
}

fn spawn(rt: &Runtime, o: &Options) -> Outcome {
    let tasks = o.tasks;
    let pass = |operations| crew(rt, (0..1).map(move |_| batches(tasks, operations)));
    pass(o.warm_up());
    Outcome {
        overlap: None, // it is one task's
        ..pass(o.operations).outcome(o.operations * tasks as u64)
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// `others` timers, each a millisecond after the one before, stay in the wheel meanwhile.
async fn start_and_cancel(others: usize, operations: u64) -> (Instant, Instant) {
    let mut pending = Vec::with_capacity(others);
    for i in 0..others {
        let mut other = Box::pin(sleep(HOUR + Duration::from_millis(i as u64)));
        assert!(
            poll_once(other.as_mut()).await.is_none(),
            "an hour has passed"
        );
        pending.push(other);
    }
    let start = Instant::now();
    for _ in 0..operations {
        let timer = sleep(HOUR);
        tokio::pin!(timer);
        assert!(poll_once(timer).await.is_none(), "an hour has passed");
    }
    let end = Instant::now();
    assert!(
        pending.iter().all(|other| !other.is_elapsed()),
        "an hour has passed"
    );
    (start, end)
}

fn timer(rt: &Runtime, o: &Options) -> Outcome {
    let others = o.amount;
    let pass = |operations| {
        let cpu_before = cpu_ns();
        let task = rt.spawn(start_and_cancel(others, operations));
        let spans = vec![rt.block_on(task).expect("the task")];
        let cpu_ns = cpu_ns() - cpu_before;
        Pass {
            spans,
            results: vec![()],
            cpu_ns,
        }
    };
    pass(o.warm_up());
    Outcome {
        overlap: None, // it is one task's
        ..pass(o.operations).outcome(o.operations)
    }
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "yield" => Some(yields(rt, o)),
        "spawn" => Some(spawn(rt, o)),
        "timer" => Some(timer(rt, o)),
        _ => None,
    }
}

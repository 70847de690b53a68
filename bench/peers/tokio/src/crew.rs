//! Workloads in which some tasks do the same number of operations each: rt_crew.c, rt_sem.c.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::yield_now;

use crate::cpu::cpu_ns;
use crate::{Options, Outcome};

/// When a task began and ended.
type Span = (Instant, Instant);

async fn timed<F: Future<Output = ()>>(work: F) -> Span {
    let start = Instant::now();
    work.await;
    (start, Instant::now())
}

/// From the first start to the last end, over all operations.
fn outcome(spans: &[Span], operations: u64, cpu_ns: f64) -> Outcome {
    let first = spans.iter().map(|s| s.0).min().unwrap();
    let last = spans.iter().map(|s| s.1).max().unwrap();
    let whole = (last - first).as_nanos() as f64;
    let sum: f64 = spans.iter().map(|s| (s.1 - s.0).as_nanos() as f64).sum();
    let all = operations as f64 * spans.len() as f64;
    Outcome {
        ns: whole / all,
        cpu_ns: cpu_ns / all,
        overlap: sum / whole / spans.len() as f64,
        bytes: 0.0,
    }
}

/// Run a crew of o.tasks twice, first for an eighth of the operations, which does not count.
fn run_crew<F, W>(rt: &Runtime, o: &Options, member: F) -> Outcome
where
    F: Fn(usize, u64) -> W + Clone + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let run = |operations: u64| {
        let (tasks, member) = (o.tasks, member.clone());
        let cpu_before = cpu_ns();
        let root = rt.spawn(async move {
            let crew: Vec<_> = (0..tasks)
                .map(|i| tokio::spawn(timed(member(i, operations))))
                .collect();
            let mut spans = Vec::with_capacity(tasks);
            for task in crew {
                spans.push(task.await.unwrap());
            }
            spans
        });
        let spans = rt.block_on(root).unwrap();
        outcome(&spans, operations, cpu_ns() - cpu_before)
    };
    run(o.operations / 8 + 1);
    run(o.operations)
}

pub fn sem(rt: &Runtime, o: &Options) -> Outcome {
    let sem = Arc::new(Semaphore::new(o.permits));
    run_crew(rt, o, move |_, operations| {
        let sem = sem.clone();
        async move {
            for _ in 0..operations {
                drop(sem.acquire().await.unwrap());
            }
        }
    })
}

pub fn held(rt: &Runtime, o: &Options) -> Outcome {
    let sem = Arc::new(Semaphore::new(o.permits));
    run_crew(rt, o, move |_, operations| {
        let sem = sem.clone();
        async move {
            for _ in 0..operations {
                let permit = sem.acquire().await.unwrap();
                yield_now().await;
                drop(permit);
            }
        }
    })
}

pub fn mutex(rt: &Runtime, o: &Options) -> Outcome {
    let count = Arc::new(Mutex::new(0u64));
    let shared = count.clone();
    let outcome = run_crew(rt, o, move |_, operations| {
        let count = shared.clone();
        async move {
            for _ in 0..operations {
                *count.lock().await += 1;
            }
        }
    });
    let expected = o.tasks as u64 * (o.operations + o.operations / 8 + 1);
    assert_eq!(*count.blocking_lock(), expected);
    outcome
}

pub fn switch(rt: &Runtime, o: &Options) -> Outcome {
    run_crew(rt, o, |_, operations| async move {
        for _ in 0..operations {
            yield_now().await;
        }
    })
}

pub fn pingpong(rt: &Runtime, o: &Options) -> Outcome {
    let sems = Arc::new([Semaphore::new(0), Semaphore::new(0)]);
    run_crew(rt, o, move |i, operations| {
        let sems = sems.clone();
        async move {
            for _ in 0..operations {
                if i == 0 {
                    sems[1].add_permits(1);
                }
                sems[i].acquire().await.unwrap().forget();
                if i == 1 {
                    sems[0].add_permits(1);
                }
            }
        }
    })
}

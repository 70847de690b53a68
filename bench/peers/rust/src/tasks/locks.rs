//! Mutexes, semaphores and read-write locks: compiled for each engine, whose types `super` names.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_lite::future::poll_once;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

use super::super::crew::{crew, run_members};
use super::super::keep;
use super::{permit, try_permit, Mutex, RwLock, Semaphore, IN_ORDER};
use crate::histogram::Histogram;
use crate::options::Options;
use crate::outcome::{slowest_share, Outcome};
use crate::{allocations, process};

#[path = "parked.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
mod parked;

/// What the members have done in both passes.
fn all_operations(o: &Options, members: usize) -> u64 {
    (o.operations + o.warm_up()) * members as u64
}

/// All permits must be there again, and no more.
fn check_permits(semaphore: &Semaphore, count: usize) {
    let taken: Vec<_> = (0..count).map_while(|_| try_permit(semaphore)).collect();
    assert_eq!(taken.len(), count, "permits lost");
    assert!(
        try_permit(semaphore).is_none(),
        "more permits than there were"
    );
}

fn mutex(rt: &Runtime, o: &Options) -> Outcome {
    let count = keep(Mutex::new(0u64));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            *count.lock().await += 1;
        }
    });
    let counted = *rt.block_on(count.lock());
    assert_eq!(counted, all_operations(o, o.tasks), "the count");
    outcome
}

/// Nobody else is there, and nothing is done inside.
fn alone_mutex(rt: &Runtime, o: &Options) -> Outcome {
    let count = keep(Mutex::new(0u64));
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            drop(count.lock().await);
        }
    })
}

fn alone_rwlock(rt: &Runtime, o: &Options, writes: bool) -> Outcome {
    let count = keep(RwLock::new(0u64));
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            if writes {
                drop(count.write().await);
            } else {
                drop(count.read().await);
            }
        }
    })
}

fn sem(rt: &Runtime, o: &Options, permits: usize) -> Outcome {
    let semaphore = keep(Semaphore::new(permits));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            drop(permit(semaphore.acquire().await));
        }
    });
    check_permits(semaphore, permits);
    outcome
}

fn held(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(o.amount));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            let held = permit(semaphore.acquire().await);
            yield_now().await;
            drop(held);
        }
    });
    check_permits(semaphore, o.amount);
    outcome
}

fn rwlock(rt: &Runtime, o: &Options, writers: usize) -> Outcome {
    let count = keep(RwLock::new(0u64));
    let outcome = run_members(rt, o, move |i, operations| async move {
        let mut seen = 0;
        for _ in 0..operations {
            if i < writers {
                *count.write().await += 1;
            } else {
                let now = *count.read().await;
                assert!(now >= seen, "a count that has gone down");
                seen = now;
            }
        }
    });
    let counted = *rt.block_on(count.read());
    assert_eq!(counted, all_operations(o, writers), "the count");
    outcome
}

/// Tasks that have arrived wait for the last one: until then, memory is allocated for tasks.
struct Start {
    tasks: usize,
    arrived: AtomicUsize,
    gone: AtomicBool,
}

impl Start {
    async fn arrive(&self) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.tasks {
            allocations::start();
            self.gone.store(true, Ordering::Release);
        }
        while !self.gone.load(Ordering::Acquire) {
            yield_now().await;
        }
    }
}

fn cycles(rt: &Runtime, o: &Options) -> Outcome {
    let count = keep(Mutex::new(0u64));
    let tasks = o.tasks;
    let pass = |operations| {
        let start = keep(Start {
            tasks,
            arrived: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        });
        crew(
            rt,
            (0..tasks).map(move |_| async move {
                start.arrive().await;
                for _ in 0..operations {
                    let mut held = count.lock().await;
                    *held += 1;
                    yield_now().await;
                    drop(held);
                }
            }),
        )
    };
    pass(o.warm_up());
    allocations::stop();
    let done = pass(o.operations);
    let allocations = allocations::stop() as f64;
    let counted = *rt.block_on(count.lock());
    assert_eq!(counted, all_operations(o, tasks), "the count");
    let operations = o.operations * tasks as u64;
    Outcome {
        allocations: Some(allocations / operations as f64),
        ..done.outcome(operations)
    }
}

/// Until together they have done as many as all have to. The lock guards the count of that.
async fn wait_again_and_again(count: &Mutex<u64>, goal: u64, length: Duration) -> Histogram {
    let mut waits = Histogram::new();
    loop {
        let asked = Instant::now();
        let mut done = count.lock().await;
        let waited = asked.elapsed();
        if *done == goal {
            return waits;
        }
        waits.add(waited.as_nanos() as u64);
        process::work(length);
        *done += 1;
        drop(done);
        yield_now().await;
    }
}

fn waits(rt: &Runtime, o: &Options) -> Outcome {
    let length = Duration::from_nanos(o.amount as u64);
    let tasks = o.tasks;
    let pass = |operations: u64| {
        let goal = operations * tasks as u64;
        let count = keep(Mutex::new(0u64));
        let done = crew(
            rt,
            (0..tasks).map(move |_| wait_again_and_again(count, goal, length)),
        );
        let all = Histogram::merged(done.results.iter());
        assert_eq!(all.count(), goal, "waits");
        Outcome {
            slowest_share: slowest_share(done.results.iter().map(Histogram::count)),
            ..done.outcome(goal).with_waits(&all)
        }
    };
    pass(o.warm_up());
    pass(o.operations)
}

/// Give up if it is not granted after one poll, one yield and another poll.
async fn acquire_or_give_up<F: Future>(acquire: F) -> Option<F::Output> {
    tokio::pin!(acquire);
    let at_once = poll_once(acquire.as_mut()).await;
    if at_once.is_some() {
        return at_once;
    }
    yield_now().await;
    poll_once(acquire).await
}

/// One permit, held across a yield. Who holds it counts. Returns how many acquires were given up.
async fn attempt(semaphore: &Semaphore, served: &AtomicU64, give_up: &[bool], count: u64) -> u64 {
    let mut lost = 0;
    for k in 0..count {
        let acquired = if give_up[(k % 100) as usize] {
            acquire_or_give_up(semaphore.acquire()).await
        } else {
            Some(semaphore.acquire().await)
        };
        match acquired {
            Some(acquired) => {
                let held = permit(acquired);
                let before = served.load(Ordering::Relaxed);
                yield_now().await;
                served.store(before + 1, Ordering::Relaxed); // wrong if somebody else has held it
                drop(held);
            }
            None => lost += 1,
        }
    }
    lost
}

fn cancel(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(1));
    let give_up: &[bool] = keep((0..100).map(|k| o.gives_up(k)).collect::<Vec<_>>());
    let tasks = o.tasks;
    let pass = |operations| {
        let served = keep(AtomicU64::new(0));
        let work = move |_| attempt(semaphore, served, give_up, operations);
        let done = crew(rt, (0..tasks).map(work));
        let (lost, all) = (done.results.iter().sum::<u64>(), operations * tasks as u64);
        assert_eq!(served.load(Ordering::Relaxed), all - lost, "the count");
        Outcome {
            lost: Some(lost as f64 / all as f64),
            ..done.outcome(all)
        }
    };
    pass(o.warm_up());
    let outcome = pass(o.operations);
    check_permits(semaphore, 1);
    outcome
}

/// The same as for several, with one task.
fn alone(o: &Options) -> Options {
    Options {
        workload: o.workload.clone(),
        engine: o.engine.clone(),
        tasks: 1,
        ..*o
    }
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    let outcome = match o.workload.as_str() {
        "alone-mutex" => alone_mutex(rt, &alone(o)),
        "alone-sem" => sem(rt, &alone(o), 1),
        "alone-read" => alone_rwlock(rt, &alone(o), false),
        "alone-write" => alone_rwlock(rt, &alone(o), true),
        "mutex" => mutex(rt, o),
        "sem" => sem(rt, o, o.amount),
        "held" => held(rt, o),
        "rwlock" => rwlock(rt, o, o.amount),
        "cycles" => cycles(rt, o),
        "waits" => waits(rt, o),
        "cancel" => cancel(rt, o),
        "parked" => parked::parked(rt, o),
        _ => return None,
    };
    Some(outcome)
}

//! Locks and semaphores of threads, whichever library they are of.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::crew::{run_alone, run_budget};
use crate::options::Options;
use crate::outcome::{Histogram, Outcome};
use crate::process;

/// A mutex around a count.
pub trait Lock: Sync {
    fn new() -> Self;
    fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R;
}

pub trait TimedLock: Lock {
    /// None if it could not be had in this time.
    fn with_in_time<R>(&self, limit: Duration, section: impl FnOnce(&mut u64) -> R) -> Option<R>;
}

/// A read-write lock around a count.
pub trait Shared: Sync {
    fn new() -> Self;
    fn read(&self) -> u64;
    fn write(&self, section: impl FnOnce(&mut u64));
}

pub trait Permits: Sync {
    fn new(count: usize) -> Self;
    fn acquire(&self);
    fn release(&self);
    /// How many are there now.
    fn count(&self) -> usize;
}

fn mutex<L: Lock>(o: &Options) -> Outcome {
    let lock = CachePadded::new(L::new());
    let (outcome, _, all) = run_budget(o, |_, budget| {
        let done = budget.spend(|_| lock.with(|count| *count += 1));
        (done, ())
    });
    assert_eq!(lock.with(|count| *count), all, "the count");
    outcome
}

fn alone_mutex<L: Lock>(o: &Options) -> Outcome {
    let lock = CachePadded::new(L::new());
    let outcome = run_alone(o, |operations| {
        for _ in 0..operations {
            lock.with(|_| ());
        }
    });
    assert_eq!(lock.with(|count| *count), 0, "the count");
    outcome
}

fn waits<L: Lock>(o: &Options) -> Outcome {
    let lock = CachePadded::new(L::new());
    let length = Duration::from_nanos(o.amount as u64);
    let (outcome, done, all) = run_budget(o, |_, budget| {
        let mut waits = Histogram::new();
        let done = budget.spend(|_| {
            let asked = Instant::now();
            let waited = lock.with(|count| {
                let waited = asked.elapsed();
                process::work(length);
                *count += 1;
                waited
            });
            waits.add(waited.as_nanos() as u64);
        });
        (done, waits)
    });
    assert_eq!(lock.with(|count| *count), all, "the count");
    let waits = Histogram::merged(done.iter().map(|(_, waits)| waits));
    assert_eq!(
        waits.count(),
        done.iter().map(|(own, _)| own).sum::<u64>(),
        "the waits"
    );
    outcome.with_waits(&waits)
}

/// What is done with the permit, and how long one with a deadline waits for it.
const HELD: Duration = Duration::from_micros(1);
const PATIENCE: Duration = Duration::from_micros(20);

pub fn timeout<L: TimedLock>(o: &Options) -> Outcome {
    let lock = CachePadded::new(L::new());
    let hold = |count: &mut u64| {
        process::work(HELD);
        *count += 1;
    };
    let give_up: Vec<_> = (0..100).map(|k| o.gives_up(k)).collect();
    let all_lost = AtomicU64::new(0);
    let (outcome, done, all) = run_budget(o, |_, budget| {
        let mut lost = 0u64;
        let done = budget.spend(|k| {
            if !give_up[(k % 100) as usize] {
                lock.with(hold);
            } else if lock.with_in_time(PATIENCE, hold).is_none() {
                lost += 1;
            }
        });
        all_lost.fetch_add(lost, Relaxed);
        (done, lost)
    });
    assert_eq!(
        lock.with(|count| *count),
        all - all_lost.into_inner(),
        "the count"
    );
    let lost: u64 = done.iter().map(|(_, lost)| lost).sum();
    let attempts: u64 = done.iter().map(|(own, _)| own).sum();
    Outcome {
        lost: Some(lost as f64 / attempts as f64),
        ..outcome
    }
}

fn alone_shared<S: Shared>(o: &Options, writes: bool) -> Outcome {
    let shared = CachePadded::new(S::new());
    let outcome = run_alone(o, |operations| {
        for _ in 0..operations {
            if writes {
                shared.write(|_| ());
            } else {
                shared.read();
            }
        }
    });
    assert_eq!(shared.read(), 0, "the count");
    outcome
}

fn rwlock<S: Shared>(o: &Options) -> Outcome {
    let shared = CachePadded::new(S::new());
    let written = AtomicU64::new(0);
    let (outcome, _, _) = run_budget(o, |i, budget| {
        let mut seen = 0;
        let writes = i < o.amount;
        let done = budget.spend(|_| {
            if writes {
                shared.write(|count| *count += 1);
            } else {
                let now = shared.read();
                assert!(now >= seen, "a count that has gone down");
                seen = now;
            }
        });
        written.fetch_add(if writes { done } else { 0 }, Relaxed);
        (done, ())
    });
    assert_eq!(shared.read(), written.into_inner(), "the count");
    outcome
}

fn alone_sem<P: Permits>(o: &Options) -> Outcome {
    let permits = CachePadded::new(P::new(1));
    let outcome = run_alone(o, |operations| {
        for _ in 0..operations {
            permits.acquire();
            permits.release();
        }
    });
    assert_eq!(permits.count(), 1, "the permits");
    outcome
}

fn sem<P: Permits>(o: &Options) -> Outcome {
    let permits = CachePadded::new(P::new(o.amount));
    let (outcome, _, _) = run_budget(o, |_, budget| {
        let done = budget.spend(|_| {
            permits.acquire();
            permits.release();
        });
        (done, ())
    });
    assert_eq!(permits.count(), o.amount, "the permits");
    outcome
}

pub fn run_locks<L: Lock, S: Shared>(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-mutex" => Some(alone_mutex::<L>(o)),
        "alone-read" => Some(alone_shared::<S>(o, false)),
        "alone-write" => Some(alone_shared::<S>(o, true)),
        "mutex" => Some(mutex::<L>(o)),
        "rwlock" => Some(rwlock::<S>(o)),
        "waits" => Some(waits::<L>(o)),
        _ => None,
    }
}

pub fn run_permits<P: Permits>(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-sem" => Some(alone_sem::<P>(o)),
        "sem" => Some(sem::<P>(o)),
        _ => None,
    }
}

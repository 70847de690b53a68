//! What else is in tokio::sync, when nobody waits. A run whose numbers do not add up panics.

use tokio::runtime::Runtime;
use tokio::sync::{broadcast, oneshot, watch, Barrier, Notify, OnceCell, Semaphore};

use super::crew::{crew, run_members};
use super::keep;
use crate::options::Options;
use crate::outcome::Outcome;

const PERMITS: usize = 8;

fn notify(rt: &Runtime, o: &Options) -> Outcome {
    let notify = keep(Notify::new());
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            notify.notify_one();
            notify.notified().await;
        }
    })
}

/// A life: made, sent, received, dropped.
fn oneshots(rt: &Runtime, o: &Options) -> Outcome {
    run_members(rt, o, |_, operations| async move {
        for i in 0..operations {
            let (to, from) = oneshot::channel();
            to.send(i).expect("closed");
            assert_eq!(from.await.expect("closed"), i, "what was sent");
        }
    })
}

fn broadcasts(rt: &Runtime, o: &Options) -> Outcome {
    let pass = |operations| {
        let (to, mut from) = broadcast::channel(16);
        let work = async move {
            for i in 0..operations {
                to.send(i).expect("closed");
                assert_eq!(from.recv().await.expect("lost"), i, "what was sent");
            }
        };
        crew(rt, vec![work].into_iter())
    };
    pass(o.warm_up());
    pass(o.operations).outcome(o.operations)
}

fn watches(rt: &Runtime, o: &Options) -> Outcome {
    let pass = |operations| {
        let (to, mut from) = watch::channel(0u64);
        let work = async move {
            for i in 0..operations {
                to.send(i).expect("closed");
                from.changed().await.expect("closed");
                assert_eq!(*from.borrow_and_update(), i, "what was sent");
            }
        };
        crew(rt, vec![work].into_iter())
    };
    pass(o.warm_up());
    pass(o.operations).outcome(o.operations)
}

fn barrier(rt: &Runtime, o: &Options) -> Outcome {
    let barrier = keep(Barrier::new(1));
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            assert!(barrier.wait().await.is_leader(), "the only one leads");
        }
    })
}

/// Come when it is done.
fn once(rt: &Runtime, o: &Options) -> Outcome {
    let cell = keep(OnceCell::new_with(Some(7u64)));
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            let value = cell.get_or_init(|| async { 0 }).await;
            assert_eq!(*value, 7, "it is done already");
        }
    })
}

fn check_permits(semaphore: &Semaphore) {
    let available = semaphore.available_permits();
    assert_eq!(available, PERMITS, "every permit was given back");
}

/// How the number of permits is lowered by one, and raised.
fn limit(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(PERMITS));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            semaphore.acquire().await.expect("a permit").forget();
            semaphore.add_permits(1);
        }
    });
    check_permits(semaphore);
    outcome
}

/// As one takes whatever is there.
fn drain(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(PERMITS));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            let there = semaphore.available_permits() as u32;
            drop(semaphore.try_acquire_many(there).expect("they are there"));
        }
    });
    check_permits(semaphore);
    outcome
}

fn all(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(PERMITS));
    let outcome = run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            let taken = semaphore.acquire_many(PERMITS as u32).await;
            drop(taken.expect("all permits"));
        }
    });
    check_permits(semaphore);
    outcome
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-notify" => Some(notify(rt, o)),
        "alone-oneshot" => Some(oneshots(rt, o)),
        "alone-broadcast" => Some(broadcasts(rt, o)),
        "alone-watch" => Some(watches(rt, o)),
        "alone-barrier" => Some(barrier(rt, o)),
        "alone-once" => Some(once(rt, o)),
        "alone-limit" => Some(limit(rt, o)),
        "alone-drain" => Some(drain(rt, o)),
        "alone-all" => Some(all(rt, o)),
        _ => None,
    }
}

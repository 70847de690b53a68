// Mutexes, semaphores and read-write locks: included for each engine, whose types `super` names.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_lite::future::poll_once;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

use super::{permit, try_permit, Mutex, RwLock, Semaphore, IN_ORDER};
use crate::options::Options;
use crate::outcome::{slowest_share, Histogram, Outcome};
use crate::process;
use crate::tasks::crew::{crew, run_members};
use crate::tasks::keep;

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
            process::count_allocations();
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
    process::allocations_counted();
    let done = pass(o.operations);
    let allocations = process::allocations_counted() as f64;
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

/// Many tasks parked on one semaphore, then released.
mod parked {
    use std::future::Future;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    use tokio::runtime::Runtime;

    use super::{permit, try_permit, Semaphore, IN_ORDER};
    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::process::{cpu_ns, resident_bytes};
    use crate::tasks::keep;

    struct Shared {
        tasks: u64,
        semaphore: Semaphore,
        all_parked: tokio::sync::Notify,
        all_served: tokio::sync::Notify,
        tickets: AtomicU64,
        served: AtomicU64,
        out_of_turn: AtomicU64,
    }

    fn share(tasks: u64) -> &'static Shared {
        keep(Shared {
            tasks,
            semaphore: Semaphore::new(1),
            all_parked: tokio::sync::Notify::new(),
            all_served: tokio::sync::Notify::new(),
            tickets: AtomicU64::new(0),
            served: AtomicU64::new(0),
            out_of_turn: AtomicU64::new(0),
        })
    }

    /// One worker polls them all, so a ticket drawn before the first poll is the place in the queue.
    /// A block, as a function would keep its argument twice: such tasks are smaller.
    #[allow(clippy::manual_async_fn)]
    fn park(shared: &'static Shared) -> impl Future<Output = ()> {
        async move {
            let ticket = shared.tickets.fetch_add(1, Relaxed);
            if ticket + 1 == shared.tasks {
                shared.all_parked.notify_one();
            }
            let mine = permit(shared.semaphore.acquire().await);
            let turn = shared.served.fetch_add(1, Relaxed);
            if turn != ticket {
                shared.out_of_turn.fetch_add(1, Relaxed);
            }
            if turn + 1 == shared.tasks {
                shared.all_served.notify_one();
            }
            drop(mine); // it is the next one's
        }
    }

    pub fn parked(rt: &Runtime, o: &Options) -> Outcome {
        let shared = share(o.tasks as u64);
        let tasks = o.tasks as f64;
        let permit = try_permit(&shared.semaphore).expect("the permit");
        let before = resident_bytes();
        for _ in 0..o.tasks {
            drop(rt.spawn(park(shared)));
        }
        rt.block_on(shared.all_parked.notified());
        let bytes = (resident_bytes() - before) / tasks;

        let cpu_before = cpu_ns();
        let start = Instant::now();
        drop(permit);
        rt.block_on(shared.all_served.notified());
        let ns = start.elapsed().as_nanos() as f64 / tasks;
        if IN_ORDER {
            assert_eq!(
                shared.out_of_turn.load(Relaxed),
                0,
                "tasks served out of turn"
            );
        }
        Outcome {
            ns,
            cpu_ns: Some((cpu_ns() - cpu_before) / tasks),
            bytes: Some(bytes),
            ..Outcome::default()
        }
    }
}

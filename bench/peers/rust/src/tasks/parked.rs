//! Many tasks parked on one semaphore, then released: compiled for each engine.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use tokio::runtime::Runtime;

use super::super::super::keep;
use super::{permit, try_permit, Semaphore, IN_ORDER};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::process::{cpu_ns, resident_bytes};

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

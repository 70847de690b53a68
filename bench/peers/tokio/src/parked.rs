//! Many tasks parked on one semaphore, then released: rt_parked.c.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::cpu::cpu_ns;
use crate::{Options, Outcome};

struct Shared {
    sem: Semaphore,
    all_parked: Semaphore,
    all_served: Semaphore,
    tickets: AtomicU64,
    served: AtomicU64,
    out_of_turn: AtomicU64,
}

/// One worker polls them all, so a ticket drawn before the first poll is the place in the queue.
async fn park(shared: Arc<Shared>, tasks: u64) {
    let ticket = shared.tickets.fetch_add(1, Relaxed);
    if ticket + 1 == tasks {
        shared.all_parked.add_permits(1);
    }
    shared.sem.acquire().await.unwrap().forget();
    let turn = shared.served.fetch_add(1, Relaxed);
    if turn != ticket {
        shared.out_of_turn.fetch_add(1, Relaxed);
    }
    let next = if turn + 1 < tasks {
        &shared.sem
    } else {
        &shared.all_served
    };
    next.add_permits(1);
}

fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    statm.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

pub fn parked(rt: &Runtime, o: &Options) -> Outcome {
    assert_eq!(o.workers, 1, "the order is known with one worker");
    let tasks = o.tasks as u64;
    let shared = Arc::new(Shared {
        sem: Semaphore::new(0),
        all_parked: Semaphore::new(0),
        all_served: Semaphore::new(0),
        tickets: AtomicU64::new(0),
        served: AtomicU64::new(0),
        out_of_turn: AtomicU64::new(0),
    });
    let before = resident_bytes();
    for _ in 0..tasks {
        drop(rt.spawn(park(shared.clone(), tasks)));
    }
    rt.block_on(shared.all_parked.acquire()).unwrap().forget();
    let bytes = (resident_bytes() - before) / tasks as f64;
    let start = Instant::now();
    let cpu_before = cpu_ns();
    shared.sem.add_permits(1);
    rt.block_on(shared.all_served.acquire()).unwrap().forget();
    let ns = start.elapsed().as_nanos() as f64 / tasks as f64;
    let cpu_ns = (cpu_ns() - cpu_before) / tasks as f64;
    assert_eq!(shared.out_of_turn.load(Relaxed), 0);
    Outcome {
        ns,
        cpu_ns,
        overlap: 0.0,
        bytes,
    }
}

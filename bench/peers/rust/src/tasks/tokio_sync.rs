//! tokio::sync: first come, first served, all of them.

use tokio::runtime::Runtime;
use tokio::sync::{AcquireError, SemaphorePermit};
pub use tokio::sync::{Mutex, RwLock, Semaphore};

use super::crew::run_members;
use super::keep;
use crate::options::Options;
use crate::outcome::Outcome;

#[path = "locks.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
mod locks;

/// They serve in the order of arrival, and promise it.
const IN_ORDER: bool = true;

/// What awaiting acquire() gives: an error only if the semaphore is closed.
fn permit<'a>(acquired: Result<SemaphorePermit<'a>, AcquireError>) -> SemaphorePermit<'a> {
    acquired.expect("a permit")
}

fn try_permit(semaphore: &Semaphore) -> Option<SemaphorePermit<'_>> {
    semaphore.try_acquire().ok()
}

fn pingpong(rt: &Runtime, o: &Options) -> Outcome {
    let permits = [keep(Semaphore::new(0)), keep(Semaphore::new(0))];
    run_members(rt, o, move |i, operations| async move {
        for _ in 0..operations {
            if i == 0 {
                permits[1].add_permits(1);
            }
            permit(permits[i].acquire().await).forget();
            if i == 1 {
                permits[0].add_permits(1);
            }
        }
    })
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "pingpong" => Some(pingpong(rt, o)),
        _ => locks::run(rt, o),
    }
}

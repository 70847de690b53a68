//! async-lock: who runs may overtake who waits. A task that has waited for its mutex for half a
//! millisecond makes the others wait; the semaphore knows no such thing.

use std::cell::UnsafeCell;

use async_lock::SemaphoreGuard;
pub use async_lock::{Mutex, RwLock, Semaphore};
use tokio::runtime::Runtime;

use super::crew::run_members;
use super::keep;
use crate::options::Options;
use crate::outcome::Outcome;

#[path = "locks.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
mod locks;

const IN_ORDER: bool = false;

fn permit(acquired: SemaphoreGuard<'_>) -> SemaphoreGuard<'_> {
    acquired
}

fn try_permit(semaphore: &Semaphore) -> Option<SemaphoreGuard<'_>> {
    semaphore.try_acquire()
}

/// A permit can only be given by dropping the guard of it. So who has taken his leaves the guard
/// here, and the other drops it when it is time.
struct Gate {
    semaphore: Semaphore,
    taken: UnsafeCell<Option<SemaphoreGuard<'static>>>,
}

// SAFETY: `taken` belongs to whom the other has given the last permit, and these permits order the
// accesses of the two.
unsafe impl Sync for Gate {}

impl Gate {
    /// One whose permit is not there.
    fn new() -> &'static Gate {
        let gate = keep(Gate {
            semaphore: Semaphore::new(1),
            taken: UnsafeCell::new(None),
        });
        gate.leave(gate.semaphore.try_acquire().expect("a permit"));
        gate
    }

    fn leave(&self, guard: SemaphoreGuard<'static>) {
        // SAFETY: see above.
        unsafe { *self.taken.get() = Some(guard) };
    }

    fn give(&self) {
        // SAFETY: see above. The guard is out of the cell before it is dropped.
        let guard = unsafe { (*self.taken.get()).take() };
        drop(guard.expect("the permit has been taken"));
    }
}

fn pingpong(rt: &Runtime, o: &Options) -> Outcome {
    let gates = [Gate::new(), Gate::new()];
    run_members(rt, o, move |i, operations| async move {
        for _ in 0..operations {
            if i == 0 {
                gates[1].give();
            }
            gates[i].leave(gates[i].semaphore.acquire().await);
            if i == 1 {
                gates[0].give();
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

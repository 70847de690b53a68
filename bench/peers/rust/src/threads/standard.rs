//! std::sync and std::thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread::{self, Thread};

use super::handoff::{self, Gate};
use super::locks::{run_locks, run_permits, Lock, Permits, Shared};
use crate::options::Options;
use crate::outcome::Outcome;

impl Lock for Mutex<u64> {
    fn new() -> Self {
        Mutex::new(0)
    }

    fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock().expect("the lock"))
    }
}

impl Shared for RwLock<u64> {
    fn new() -> Self {
        RwLock::new(0)
    }

    fn read(&self) -> u64 {
        *RwLock::read(self).expect("the lock")
    }

    fn write(&self, section: impl FnOnce(&mut u64)) {
        section(&mut RwLock::write(self).expect("the lock"))
    }
}

/// There is no semaphore, so this is how it is done.
struct Semaphore {
    state: Mutex<State>,
    released: Condvar,
}

struct State {
    count: usize,
    waiting: usize, // notifying is a system call, whether anybody waits or not
}

impl Permits for Semaphore {
    fn new(count: usize) -> Self {
        Semaphore {
            state: Mutex::new(State { count, waiting: 0 }),
            released: Condvar::new(),
        }
    }

    fn acquire(&self) {
        let mut state = self.state.lock().expect("the lock");
        while state.count == 0 {
            state.waiting += 1;
            state = self.released.wait(state).expect("the lock");
            state.waiting -= 1;
        }
        state.count -= 1;
    }

    fn release(&self) {
        let mut state = self.state.lock().expect("the lock");
        state.count += 1;
        let somebody_waits = state.waiting > 0;
        drop(state);
        if somebody_waits {
            self.released.notify_one();
        }
    }

    fn count(&self) -> usize {
        self.state.lock().expect("the lock").count
    }
}

/// The thread is parked itself.
struct Parked {
    given: AtomicBool,
    owner: Thread,
}

impl Gate for Parked {
    fn new() -> Self {
        Parked {
            given: AtomicBool::new(false),
            owner: thread::current(),
        }
    }

    fn give(&self) {
        self.given.store(true, Ordering::Release);
        self.owner.unpark();
    }

    fn take(&self) {
        while !self.given.load(Ordering::Acquire) {
            thread::park();
        }
        self.given.store(false, Ordering::Relaxed); // nobody gives another one before we do
    }
}

pub fn run(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-sem" | "sem" => run_permits::<Semaphore>(o),
        "pingpong" | "wake" => handoff::run::<Parked>(o),
        _ => run_locks::<Mutex<u64>, RwLock<u64>>(o),
    }
}

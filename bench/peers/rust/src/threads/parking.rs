//! parking_lot. Who runs may overtake who waits, but every half a millisecond or so, an unlock
//! serves who has waited longest. With fair unlocks all of them do.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::handoff::{self, Gate};
use super::locks::{run_locks, run_permits, timeout, Lock, Permits, Shared, TimedLock};
use crate::options::Options;
use crate::outcome::Outcome;

impl Lock for Mutex<u64> {
    fn new() -> Self {
        Mutex::new(0)
    }

    fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock())
    }
}

impl TimedLock for Mutex<u64> {
    fn with_in_time<R>(&self, limit: Duration, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
        self.try_lock_for(limit)
            .map(|mut count| section(&mut count))
    }
}

impl Shared for RwLock<u64> {
    fn new() -> Self {
        RwLock::new(0)
    }

    fn read(&self) -> u64 {
        *RwLock::read(self)
    }

    fn write(&self, section: impl FnOnce(&mut u64)) {
        section(&mut RwLock::write(self))
    }
}

struct FairMutex(Mutex<u64>);

impl FairMutex {
    fn serve<R>(mut count: MutexGuard<u64>, section: impl FnOnce(&mut u64) -> R) -> R {
        let result = section(&mut count);
        MutexGuard::unlock_fair(count);
        result
    }
}

impl Lock for FairMutex {
    fn new() -> Self {
        FairMutex(Mutex::new(0))
    }

    fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        FairMutex::serve(self.0.lock(), section)
    }
}

impl TimedLock for FairMutex {
    fn with_in_time<R>(&self, limit: Duration, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
        self.0
            .try_lock_for(limit)
            .map(|count| FairMutex::serve(count, section))
    }
}

struct FairRwLock(RwLock<u64>);

impl Shared for FairRwLock {
    fn new() -> Self {
        FairRwLock(RwLock::new(0))
    }

    fn read(&self) -> u64 {
        let count = self.0.read();
        let seen = *count;
        RwLockReadGuard::unlock_fair(count);
        seen
    }

    fn write(&self, section: impl FnOnce(&mut u64)) {
        let mut count = self.0.write();
        section(&mut count);
        RwLockWriteGuard::unlock_fair(count);
    }
}

/// There is no semaphore, so this is how it is done.
struct Semaphore {
    count: Mutex<usize>,
    released: Condvar,
}

impl Permits for Semaphore {
    fn new(count: usize) -> Self {
        Semaphore {
            count: Mutex::new(count),
            released: Condvar::new(),
        }
    }

    fn acquire(&self) {
        let mut count = self.count.lock();
        while *count == 0 {
            self.released.wait(&mut count);
        }
        *count -= 1;
    }

    fn release(&self) {
        *self.count.lock() += 1;
        self.released.notify_one(); // but a load if nobody waits
    }

    fn count(&self) -> usize {
        *self.count.lock()
    }
}

impl Gate for Semaphore {
    fn new() -> Self {
        Permits::new(0)
    }

    fn give(&self) {
        self.release()
    }

    fn take(&self) {
        self.acquire()
    }
}

pub fn run(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "timeout" => Some(timeout::<Mutex<u64>>(o)),
        "alone-sem" | "sem" => run_permits::<Semaphore>(o),
        "pingpong" | "wake" => handoff::run::<Semaphore>(o),
        _ => run_locks::<Mutex<u64>, RwLock<u64>>(o),
    }
}

pub fn run_fair(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "timeout" => Some(timeout::<FairMutex>(o)),
        _ => run_locks::<FairMutex, FairRwLock>(o),
    }
}

//! Plain threads, as many as there are tasks elsewhere.

mod channels;
mod crew;
mod locks;

use crate::options::{refuse, Options};
use crate::outcome::Outcome;

const MOST_THREADS: usize = 1024;

/// None if it is no engine of threads, or has no such workload.
pub fn run(o: &Options) -> Option<Outcome> {
    if o.tasks > MOST_THREADS {
        refuse("--tasks is 1..1024 here: they are threads");
    }
    match o.engine.as_str() {
        "parking_lot" => parking::run(o),
        "parking_lot-fair" => parking::run_fair(o),
        "std" => standard::run(o),
        "crossbeam" => channels::run_crossbeam(o),
        "flume-threads" => channels::run_flume(o),
        _ => None,
    }
}

/// parking_lot. Who runs may overtake who waits, but every half a millisecond or so, an unlock
/// serves who has waited longest. With fair unlocks all of them do.
mod parking {
    use std::time::Duration;

    use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::threads::crew::handoff::{self, Gate};
    use crate::threads::locks::{
        run_locks, run_permits, timeout, Lock, Permits, Shared, TimedLock,
    };

    impl Lock for Mutex<u64> {
        fn new() -> Self {
            Mutex::new(0)
        }

        fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
            section(&mut self.lock())
        }
    }

    impl TimedLock for Mutex<u64> {
        fn with_in_time<R>(
            &self,
            limit: Duration,
            section: impl FnOnce(&mut u64) -> R,
        ) -> Option<R> {
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
        fn with_in_time<R>(
            &self,
            limit: Duration,
            section: impl FnOnce(&mut u64) -> R,
        ) -> Option<R> {
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
}

/// std::sync and std::thread.
mod standard {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Condvar, Mutex, RwLock};
    use std::thread::{self, Thread};

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::threads::crew::handoff::{self, Gate};
    use crate::threads::locks::{run_locks, run_permits, Lock, Permits, Shared};

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
}

//! The engines whose loops are written once: locks.rs is included for two, channels.rs for three; an
//! engine's module says what is called how. And tokio-util's token.

/// tokio::sync: first come, first served, all of them.
pub mod tokio_sync {
    use tokio::runtime::Runtime;
    use tokio::sync::{AcquireError, SemaphorePermit};
    pub use tokio::sync::{Mutex, RwLock, Semaphore};

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::tasks::crew::run_members;
    use crate::tasks::keep;

    mod locks {
        include!("locks.rs");
    }

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
}

/// async-lock: who runs may overtake who waits. A task that has waited for its mutex for half a
/// millisecond makes the others wait; the semaphore knows no such thing.
pub mod async_locks {
    use std::cell::UnsafeCell;

    use async_lock::SemaphoreGuard;
    pub use async_lock::{Mutex, RwLock, Semaphore};
    use tokio::runtime::Runtime;

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::tasks::crew::run_members;
    use crate::tasks::keep;

    mod locks {
        include!("locks.rs");
    }

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
}

/// tokio::sync::mpsc, which has one receiver: it receives everything.
pub mod mpsc {
    use std::future::Future;

    use tokio::sync::mpsc::error::SendError;
    pub use tokio::sync::mpsc::{channel as bounded, Receiver, Sender};

    pub mod channels {
        include!("channels.rs");
    }

    fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
        to.send(value)
    }

    fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Option<u64>> + '_ {
        from.recv()
    }

    fn receivers(from: Receiver<u64>, _most: usize) -> Vec<Receiver<u64>> {
        vec![from]
    }
}

/// async-channel.
pub mod async_channels {
    use std::future::Future;

    pub use async_channel::{bounded, Receiver, Sender};
    use async_channel::{RecvError, SendError};

    pub mod channels {
        include!("channels.rs");
    }

    fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
        to.send(value)
    }

    fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Result<u64, RecvError>> + '_ {
        from.recv()
    }

    fn receivers(from: Receiver<u64>, most: usize) -> Vec<Receiver<u64>> {
        vec![from; most]
    }
}

/// flume, by its asynchronous methods.
pub mod flumes {
    use std::future::Future;

    pub use flume::{bounded, Receiver, Sender};
    use flume::{RecvError, SendError};

    pub mod channels {
        include!("channels.rs");
    }

    fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
        to.send_async(value)
    }

    fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Result<u64, RecvError>> + '_ {
        from.recv_async()
    }

    fn receivers(from: Receiver<u64>, most: usize) -> Vec<Receiver<u64>> {
        vec![from; most]
    }
}

/// tokio_util::sync::CancellationToken.
pub mod tokens {
    use std::cell::UnsafeCell;

    use tokio::runtime::Runtime;
    use tokio_util::sync::CancellationToken;

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::tasks::crew::run_members;
    use crate::tasks::keep;

    /// Is it cancelled?
    fn alone(rt: &Runtime, o: &Options) -> Outcome {
        let token = keep(CancellationToken::new());
        run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                assert!(!token.is_cancelled(), "nobody has cancelled it");
            }
        })
    }

    /// A token that its owner renews between two cancels.
    struct Place(UnsafeCell<CancellationToken>);

    // SAFETY: one at a time looks into it: the owner from when it was cancelled until it cancels the
    // other one's, that one from then on.
    unsafe impl Sync for Place {}

    impl Place {
        fn token(&self) -> CancellationToken {
            // SAFETY: see above; a clone, as the owner may renew it while cancel() still returns.
            unsafe { (*self.0.get()).clone() }
        }

        fn renew(&self) -> CancellationToken {
            let token = CancellationToken::new();
            // SAFETY: see above.
            unsafe { *self.0.get() = token.clone() };
            token
        }
    }

    /// A token is made for each hop: before the other one is told, who cancels it.
    fn hops(rt: &Runtime, o: &Options) -> Outcome {
        let place = || keep(Place(UnsafeCell::new(CancellationToken::new())));
        let of = [place(), place()];
        run_members(rt, o, move |i, operations| async move {
            let mut mine = of[i].token();
            for _ in 0..operations {
                if i == 0 {
                    mine = of[0].renew();
                    of[1].token().cancel();
                }
                mine.cancelled().await;
                assert!(mine.is_cancelled(), "it is cancelled");
                if i == 1 {
                    mine = of[1].renew();
                    of[0].token().cancel();
                }
            }
        })
    }

    pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
        match o.workload.as_str() {
            "alone-token" => Some(alone(rt, o)),
            "token" => Some(hops(rt, o)),
            _ => None,
        }
    }
}

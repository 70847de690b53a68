//! Some threads that begin together and are awaited together; and how long they go on.
//! Two of them that wait for each other are a module of their own: pingpong, wake.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::options::Options;
use crate::outcome::{slowest_share, Outcome, Pass, Span};
use crate::process::cpu_ns;

type Timed<T> = (Span, T);

fn timed<T>(start_line: &Barrier, work: impl FnOnce() -> T) -> Timed<T> {
    start_line.wait();
    let start = Instant::now();
    let result = work();
    ((start, Instant::now()), result)
}

/// One thread for each of the works. The calling thread does `meanwhile`.
pub fn crew<T, W>(works: Vec<W>, meanwhile: impl FnOnce()) -> Pass<T>
where
    T: Send,
    W: FnOnce() -> T + Send,
{
    let cpu_before = cpu_ns();
    let start_line = &Barrier::new(works.len() + 1);
    let timed: Vec<Timed<T>> = thread::scope(|scope| {
        let spawn = |work| scope.spawn(move || timed(start_line, work));
        let threads: Vec<_> = works.into_iter().map(spawn).collect();
        start_line.wait();
        meanwhile();
        threads
            .into_iter()
            .map(|t| t.join().expect("a thread"))
            .collect()
    });
    let cpu_ns = cpu_ns() - cpu_before;
    let (spans, results) = timed.into_iter().unzip();
    Pass {
        spans,
        results,
        cpu_ns,
    }
}

const PASS: Duration = Duration::from_millis(100);
const WARM_UP: Duration = Duration::from_millis(20);

/// Until all together have done so many operations, or the time is over.
pub struct Budget {
    operations: u64,
    limit: Duration,
    batch: u64,
    done: CachePadded<AtomicU64>,
    over: CachePadded<AtomicBool>,
    keeper: Thread,
}

impl Budget {
    /// The calling thread is to keep the time.
    fn new(o: &Options, limit: Duration) -> Budget {
        Budget {
            operations: o.operations * o.tasks as u64,
            limit,
            batch: (o.operations / 16).clamp(1, 1024), // counted together, so as to meet seldom
            done: CachePadded::new(AtomicU64::new(0)),
            over: CachePadded::new(AtomicBool::new(false)),
            keeper: thread::current(),
        }
    }

    /// Do it again and again: with the number of the operation. Returns how often.
    pub fn spend(&self, mut operation: impl FnMut(u64)) -> u64 {
        let (mut own, mut batch_end) = (0, self.batch);
        while !self.over.load(Relaxed) {
            operation(own);
            own += 1;
            if own == batch_end {
                batch_end += self.batch;
                let done = self.done.fetch_add(self.batch, Relaxed) + self.batch;
                if done >= self.operations {
                    self.over.store(true, Relaxed);
                    self.keeper.unpark();
                }
            }
        }
        own
    }

    /// For threads that wait so long that they do not look at the clock.
    fn keep_time(&self) {
        let start = Instant::now();
        while !self.over.load(Relaxed) {
            match self.limit.checked_sub(start.elapsed()) {
                Some(rest) => thread::park_timeout(rest),
                None => self.over.store(true, Relaxed),
            }
        }
    }
}

/// o.tasks threads with a budget, first for a time that does not count. `member` is told the number
/// of its thread, and returns how many operations it has done, and anything else.
pub fn run_budget<T: Send>(
    o: &Options,
    member: impl Fn(usize, &Budget) -> (u64, T) + Sync,
) -> (Outcome, Vec<(u64, T)>, u64) {
    let pass = |limit| {
        let budget = &Budget::new(o, limit);
        let work = |i| {
            let member = &member;
            move || member(i, budget)
        };
        crew((0..o.tasks).map(work).collect(), || budget.keep_time())
    };
    let warm_up: u64 = pass(WARM_UP).results.iter().map(|r| r.0).sum();
    let done = pass(PASS);
    let operations = done.results.iter().map(|r| r.0);
    let all: u64 = operations.clone().sum();
    let outcome = Outcome {
        slowest_share: slowest_share(operations),
        ..done.outcome(all)
    };
    (outcome, done.results, warm_up + all)
}

/// One thread, while another one sleeps. Twice, first with an eighth of the operations.
pub fn run_alone(o: &Options, work: impl Fn(u64) + Sync) -> Outcome {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while !over.load(Relaxed) {
                thread::park();
            }
        });
        let pass = |operations| {
            let work = &work;
            crew(vec![move || work(operations)], || ())
        };
        pass(o.warm_up());
        let outcome = pass(o.operations).outcome(o.operations);
        over.store(true, Relaxed);
        sleeper.thread().unpark();
        outcome
    })
}

/// Two threads that wait for each other: pingpong, wake.
pub mod handoff {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::crew;
    use crate::options::Options;
    use crate::outcome::{Histogram, Outcome};
    use crate::process::thread_id;

    /// A permit for one thread, who makes it.
    pub trait Gate: Send + Sync + 'static {
        fn new() -> Self;
        fn give(&self);
        /// By its maker only.
        fn take(&self);
    }

    /// Each of two threads makes a gate of its own and leaves it here for the other.
    struct Exchange<G> {
        left: [Mutex<Option<Arc<G>>>; 2],
        both: Barrier,
    }

    impl<G: Gate> Exchange<G> {
        fn new() -> Exchange<G> {
            Exchange {
                left: [Mutex::new(None), Mutex::new(None)],
                both: Barrier::new(2),
            }
        }

        /// One's own, and the other's.
        fn meet(&self, i: usize) -> (Arc<G>, Arc<G>) {
            let own = Arc::new(G::new());
            *self.left[i].lock().expect("a gate") = Some(own.clone());
            self.both.wait();
            let other = self.left[1 - i].lock().expect("a gate").take();
            (own, other.expect("a gate"))
        }
    }

    fn pingpong<G: Gate>(o: &Options) -> Outcome {
        let pass = |operations: u64| {
            let exchange = &Exchange::<G>::new();
            let hops = &AtomicU64::new(0);
            let work = |i| {
                move || {
                    let (own, other) = exchange.meet(i);
                    for _ in 0..operations {
                        if i == 0 {
                            other.give();
                        }
                        own.take();
                        let hop = hops.load(Ordering::Relaxed); // whose turn it is counts
                        hops.store(hop + 1, Ordering::Relaxed);
                        if i == 1 {
                            other.give();
                        }
                    }
                }
            };
            let done = crew((0..2).map(work).collect(), || ());
            assert_eq!(hops.load(Ordering::Relaxed), 2 * operations, "the hops");
            done.outcome(2 * operations)
        };
        pass(o.warm_up());
        pass(o.operations)
    }

    /// How long it has slept when it is woken; and when it should have gone to sleep at last.
    const ASLEEP: Duration = Duration::from_micros(100);
    const BEDTIME: Duration = Duration::from_secs(5);

    /// What the sleeper and its waker know of each other.
    struct Bed {
        clock: Instant,
        sleeper: AtomicI32,
        round: AtomicU64,
        given_ns: AtomicU64,
    }

    impl Bed {
        fn now_ns(&self) -> u64 {
            self.clock.elapsed().as_nanos() as u64
        }

        fn sleep<G: Gate>(&self, gate: &G, operations: u64) -> Histogram {
            let mut waits = Histogram::new();
            self.sleeper.store(thread_id(), Ordering::Relaxed);
            for round in 1..=operations {
                self.round.store(round, Ordering::Release);
                gate.take();
                let waited = self.now_ns() - self.given_ns.load(Ordering::Relaxed);
                if round > operations / 8 {
                    waits.add(waited);
                }
            }
            waits
        }

        fn wake<G: Gate>(&self, gate: &G, operations: u64) {
            let mut stat = None;
            for round in 1..=operations {
                while self.round.load(Ordering::Acquire) != round {
                    thread::yield_now();
                }
                let stat = stat.get_or_insert_with(|| {
                    let sleeper = self.sleeper.load(Ordering::Relaxed);
                    File::open(format!("/proc/self/task/{sleeper}/stat")).expect("stat")
                });
                until_asleep(stat);
                crate::process::work(ASLEEP);
                self.given_ns.store(self.now_ns(), Ordering::Relaxed);
                gate.give();
            }
        }
    }

    /// The state is the letter after the name, which is in brackets and may contain some.
    fn is_asleep(stat: &File) -> bool {
        let mut text = [0; 256];
        let length = stat.read_at(&mut text, 0).expect("stat");
        let bracket = text[..length].iter().rposition(|c| *c == b')');
        text[bracket.expect("stat") + 2] == b'S'
    }

    fn until_asleep(stat: &File) {
        let start = Instant::now();
        while !is_asleep(stat) {
            assert!(start.elapsed() < BEDTIME, "the thread does not go to sleep");
            thread::yield_now();
        }
    }

    fn wake<G: Gate>(o: &Options) -> Outcome {
        let operations = o.operations;
        let exchange = &Exchange::<G>::new();
        let bed = &Bed {
            clock: Instant::now(),
            sleeper: AtomicI32::new(0),
            round: AtomicU64::new(0),
            given_ns: AtomicU64::new(0),
        };
        let work = |i| {
            move || {
                let (own, other) = exchange.meet(i);
                if i == 0 {
                    return Some(bed.sleep(&*own, operations));
                }
                bed.wake(&*other, operations);
                None
            }
        };
        let done = crew((0..2).map(work).collect(), || ());
        let waits = done.results[0].as_ref().expect("the sleeper's");
        assert_eq!(waits.count(), operations - operations / 8, "the waits");
        Outcome {
            ns: waits.quantile(0.5),
            ..Outcome::default().with_waits(waits)
        }
    }

    pub fn run<G: Gate>(o: &Options) -> Option<Outcome> {
        match o.workload.as_str() {
            "pingpong" => Some(pingpong::<G>(o)),
            "wake" => Some(wake::<G>(o)),
            _ => None,
        }
    }
}

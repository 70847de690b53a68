//! Two threads that wait for each other: pingpong, wake.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::crew::crew;
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

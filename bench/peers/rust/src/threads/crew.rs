//! Some threads that begin together and are awaited together; and how long they go on.

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

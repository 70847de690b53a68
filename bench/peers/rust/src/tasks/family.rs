//! What else is in tokio::sync, one task awaiting it. With one worker each operation is a wait, a
//! wake and a switch of tasks. Several wait: family_rounds.rs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::runtime::Runtime;
use tokio::sync::{oneshot, Notify, Semaphore};
use tokio::task::yield_now;

use super::crew::{crew, run_members};
use super::keep;
use crate::options::Options;
use crate::outcome::Outcome;

/// Member 0 serves: it tells first.
fn notify(rt: &Runtime, o: &Options) -> Outcome {
    let of = [keep(Notify::new()), keep(Notify::new())];
    run_members(rt, o, move |i, operations| async move {
        for _ in 0..operations {
            if i == 0 {
                of[1].notify_one();
            }
            of[i].notified().await;
            if i == 1 {
                of[0].notify_one();
            }
        }
    })
}

/// A number, and where the next one is awaited.
struct Letter {
    value: u64,
    reply: oneshot::Sender<Letter>,
}

type Sender = oneshot::Sender<Letter>;
type Receiver = oneshot::Receiver<Letter>;

enum End {
    Serves(Sender),
    Answers(Receiver),
}

fn send(to: Sender, value: u64) -> Receiver {
    let (reply, mine) = oneshot::channel();
    assert!(to.send(Letter { value, reply }).is_ok(), "closed");
    mine
}

async fn receive(mine: Receiver, value: u64) -> Sender {
    let received = mine.await.expect("closed");
    assert_eq!(received.value, value, "what was sent");
    received.reply
}

async fn play(end: End, operations: u64) {
    match end {
        End::Serves(mut to) => {
            for i in 1..=operations {
                to = receive(send(to, i), i).await;
            }
        }
        End::Answers(mut mine) => {
            for i in 1..=operations {
                mine = send(receive(mine, i).await, i);
            }
        }
    }
}

/// A oneshot is made for each hop, and sent to the one who sends the next.
fn oneshots(rt: &Runtime, o: &Options) -> Outcome {
    let pass = |operations| {
        let (to, mine) = oneshot::channel();
        let ends = vec![End::Serves(to), End::Answers(mine)];
        crew(rt, ends.into_iter().map(move |end| play(end, operations)))
    };
    pass(o.warm_up());
    pass(o.operations).outcome(2 * o.operations)
}

/// The other one adds the permit that I await and make disappear.
fn limit(rt: &Runtime, o: &Options) -> Outcome {
    let of = [keep(Semaphore::new(0)), keep(Semaphore::new(0))];
    let outcome = run_members(rt, o, move |i, operations| async move {
        for _ in 0..operations {
            if i == 0 {
                of[1].add_permits(1);
            }
            of[i].acquire().await.expect("a permit").forget();
            if i == 1 {
                of[0].add_permits(1);
            }
        }
    });
    let left: usize = of.iter().map(|s| s.available_permits()).sum();
    assert_eq!(left, 0, "what was added has been taken");
    outcome
}

/// Member 0 takes all of the permits, the other one: held across a yield.
fn all(rt: &Runtime, o: &Options) -> Outcome {
    let semaphore = keep(Semaphore::new(o.amount));
    let count = keep(AtomicU64::new(0)); // who has all permits counts
    let amount = o.amount as u32;
    let outcome = run_members(rt, o, move |i, operations| async move {
        let permits = if i == 0 { amount } else { 1 };
        for _ in 0..operations {
            let taken = semaphore.acquire_many(permits).await.expect("permits");
            let seen = count.load(Relaxed);
            yield_now().await;
            assert_eq!(count.load(Relaxed), seen, "nobody has had all meanwhile");
            if i == 0 {
                count.store(seen + 1, Relaxed);
            }
            drop(taken);
        }
    });
    assert_eq!(semaphore.available_permits(), o.amount, "every permit");
    assert_eq!(count.load(Relaxed), o.operations + o.warm_up(), "the count");
    outcome
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "notify" => Some(notify(rt, o)),
        "oneshot" => Some(oneshots(rt, o)),
        "limit" => Some(limit(rt, o)),
        "all" => Some(all(rt, o)),
        _ => None,
    }
}

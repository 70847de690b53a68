//! What else is in tokio::sync, in rounds of several tasks: one sends and the others receive, or
//! all meet.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Runtime;
use tokio::sync::{broadcast, watch, Barrier, OnceCell};
use tokio::task::yield_now;

use super::crew::crew;
use super::keep;
use crate::options::Options;
use crate::outcome::{Outcome, Pass};

/// First with an eighth of the rounds. A round is an operation of all tasks.
fn twice<T>(o: &Options, pass: impl Fn(u64) -> Pass<T>) -> Outcome {
    pass(o.warm_up());
    pass(o.operations).outcome(o.operations)
}

/// One who sends yields until all have heard of it: with one worker, once.
async fn until_heard(heard: &AtomicU64, count: u64) {
    while heard.load(Ordering::Acquire) < count {
        yield_now().await;
    }
}

enum Player {
    Sends(broadcast::Sender<u64>),
    Receives(broadcast::Receiver<u64>),
    Publishes(watch::Sender<u64>),
    Watches(watch::Receiver<u64>),
}

async fn play(player: Player, heard: &AtomicU64, others: u64, operations: u64) {
    match player {
        Player::Sends(to) => {
            for i in 1..=operations {
                to.send(i).expect("closed");
                until_heard(heard, i * others).await;
            }
        }
        Player::Publishes(to) => {
            for i in 1..=operations {
                to.send(i).expect("closed");
                until_heard(heard, i * others).await;
            }
        }
        Player::Receives(mut from) => {
            for i in 1..=operations {
                assert_eq!(from.recv().await.expect("lost"), i, "what was sent");
                heard.fetch_add(1, Ordering::Release);
            }
        }
        Player::Watches(mut from) => {
            for i in 1..=operations {
                from.changed().await.expect("closed");
                assert_eq!(*from.borrow_and_update(), i, "what was sent");
                heard.fetch_add(1, Ordering::Release);
            }
        }
    }
}

fn broadcasts(rt: &Runtime, o: &Options) -> Outcome {
    let others = o.tasks - 1;
    twice(o, |operations| {
        let heard = keep(AtomicU64::new(0));
        let (to, _) = broadcast::channel(16);
        let receive = |_| Player::Receives(to.subscribe());
        let mut players: Vec<_> = (0..others).map(receive).collect();
        players.insert(0, Player::Sends(to));
        let work = move |player| play(player, heard, others as u64, operations);
        crew(rt, players.into_iter().map(work))
    })
}

fn watches(rt: &Runtime, o: &Options) -> Outcome {
    let others = o.tasks - 1;
    twice(o, |operations| {
        let heard = keep(AtomicU64::new(0));
        let (to, from) = watch::channel(0);
        let watch = |_| Player::Watches(from.clone());
        let mut players: Vec<_> = (0..others).map(watch).collect();
        players.insert(0, Player::Publishes(to));
        let work = move |player| play(player, heard, others as u64, operations);
        crew(rt, players.into_iter().map(work))
    })
}

/// Returns how often it was the leader.
async fn meet(barrier: &Barrier, operations: u64) -> u64 {
    let mut led = 0;
    for _ in 0..operations {
        led += u64::from(barrier.wait().await.is_leader());
    }
    led
}

fn barrier(rt: &Runtime, o: &Options) -> Outcome {
    let tasks = o.tasks;
    let barrier = keep(Barrier::new(tasks));
    twice(o, |operations| {
        let done = crew(rt, (0..tasks).map(move |_| meet(barrier, operations)));
        let led = done.results.iter().sum::<u64>();
        assert_eq!(led, operations, "one leads a round");
        done
    })
}

/// Who comes first begins, and yields, so that the others come and wait. Returns how often it has
/// begun.
async fn come_to_each(cells: &[OnceCell<u64>]) -> u64 {
    let mut begun = 0;
    for (i, cell) in cells.iter().enumerate() {
        let count = &mut begun;
        let begin = move || async move {
            yield_now().await;
            *count += 1;
            i as u64
        };
        assert_eq!(*cell.get_or_init(begin).await, i as u64, "what was done");
    }
    begun
}

fn once(rt: &Runtime, o: &Options) -> Outcome {
    let tasks = o.tasks;
    twice(o, |operations| {
        let cells = keep((0..operations).map(|_| OnceCell::new()).collect::<Vec<_>>());
        let done = crew(rt, (0..tasks).map(move |_| come_to_each(cells)));
        let begun = done.results.iter().sum::<u64>();
        assert_eq!(begun, operations, "once each");
        done
    })
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "broadcast" => Some(broadcasts(rt, o)),
        "watch" => Some(watches(rt, o)),
        "barrier" => Some(barrier(rt, o)),
        "once" => Some(once(rt, o)),
        _ => None,
    }
}

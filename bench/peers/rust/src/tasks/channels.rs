// Channels: included for each engine, whose types and methods `super` names.

use tokio::runtime::Runtime;

use super::{bounded, receivers, recv, send, Receiver, Sender};
use crate::options::Options;
use crate::outcome::{Outcome, Pass};
use crate::tasks::crew::crew;

/// Run it with an eighth of the operations, then with all. `each` is how many elements, or hops,
/// there are to an operation.
fn twice(o: &Options, each: usize, pass: impl Fn(u64) -> Pass<u64>) -> Outcome {
    pass(o.warm_up());
    pass(o.operations).outcome(o.operations * each as u64)
}

async fn to_itself(capacity: usize, operations: u64) -> u64 {
    let (to, mut from) = bounded(capacity);
    let mut sum = 0u64;
    for i in 0..operations {
        send(&to, i).await.expect("closed");
        sum += recv(&mut from).await.expect("closed");
    }
    sum
}

fn alone(rt: &Runtime, o: &Options) -> Outcome {
    let capacity = o.amount;
    twice(o, 1, |operations| {
        let done = crew(rt, (0..1).map(move |_| to_itself(capacity, operations)));
        assert_eq!(
            done.results[0],
            operations * (operations - 1) / 2,
            "the sum"
        );
        done
    })
}

enum End {
    /// Sends so many elements, of which the first is this.
    Sends(Sender<u64>, u64, u64),
    /// Receives so many.
    Receives(Receiver<u64>, u64),
}

/// Returns the sum of what has gone through.
async fn play(end: End) -> u64 {
    let mut sum = 0u64;
    match end {
        End::Sends(to, first, count) => {
            for value in first..first + count {
                sum = sum.wrapping_add(value);
                send(&to, value).await.expect("closed");
            }
        }
        End::Receives(mut from, count) => {
            for _ in 0..count {
                let value = recv(&mut from).await.expect("closed");
                sum = sum.wrapping_add(value);
            }
        }
    }
    sum
}

fn mpmc(rt: &Runtime, o: &Options) -> Outcome {
    let senders = o.tasks / 2;
    twice(o, senders, |operations| {
        let (to, from) = bounded(o.amount);
        let from = receivers(from, senders);
        let share = operations * senders as u64 / from.len() as u64;
        let sends = |i| End::Sends(to.clone(), (i as u64) << 32, operations);
        let mut ends: Vec<_> = (0..senders).map(sends).collect();
        ends.extend(from.into_iter().map(|from| End::Receives(from, share)));
        drop(to);
        let done = crew(rt, ends.into_iter().map(play));
        let add = |sums: &[u64]| sums.iter().fold(0, |a: u64, b| a.wrapping_add(*b));
        let (sent, received) = done.results.split_at(senders);
        assert_eq!(add(sent), add(received), "the sum of what was received");
        done
    })
}

/// Two of them: one sends first, the other returns what it gets. Each returns its sum.
async fn rally(first: bool, to: Sender<u64>, mut from: Receiver<u64>, operations: u64) -> u64 {
    let mut sum = 0;
    for i in 0..operations {
        if first {
            send(&to, i + 1).await.expect("closed");
        }
        let value = recv(&mut from).await.expect("closed");
        assert_eq!(value, i + 1, "out of order");
        sum += value;
        if !first {
            send(&to, value).await.expect("closed");
        }
    }
    sum
}

fn pingpong(rt: &Runtime, o: &Options) -> Outcome {
    twice(o, 2, |operations| {
        let (there, at_second) = bounded(o.amount);
        let (back, at_first) = bounded(o.amount);
        let first = rally(true, there, at_first, operations);
        let second = rally(false, back, at_second, operations);
        let done = crew(rt, vec![first, second].into_iter());
        assert_eq!(
            done.results[0],
            operations * (operations + 1) / 2,
            "the sum"
        );
        done
    })
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-chan" => Some(alone(rt, o)),
        "mpmc" => Some(mpmc(rt, o)),
        "chan-pingpong" => Some(pingpong(rt, o)),
        _ => None,
    }
}

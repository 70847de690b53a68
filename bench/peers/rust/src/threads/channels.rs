//! Channels between threads: crossbeam's and flume's.

use crossbeam_channel as crossbeam;

use super::crew::handoff::{self, Gate};
use super::crew::{crew, run_alone};
use crate::options::Options;
use crate::outcome::Outcome;

/// A library of channels.
trait Channels {
    type Sender: Clone + Send;
    type Receiver: Clone + Send;
    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn send(to: &Self::Sender, value: u64);
    fn recv(from: &Self::Receiver) -> u64;
}

struct Crossbeam;

impl Channels for Crossbeam {
    type Sender = crossbeam::Sender<u64>;
    type Receiver = crossbeam::Receiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        crossbeam::bounded(capacity)
    }

    fn send(to: &Self::Sender, value: u64) {
        to.send(value).expect("closed")
    }

    fn recv(from: &Self::Receiver) -> u64 {
        from.recv().expect("closed")
    }
}

struct Flume;

impl Channels for Flume {
    type Sender = flume::Sender<u64>;
    type Receiver = flume::Receiver<u64>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        flume::bounded(capacity)
    }

    fn send(to: &Self::Sender, value: u64) {
        to.send(value).expect("closed")
    }

    fn recv(from: &Self::Receiver) -> u64 {
        from.recv().expect("closed")
    }
}

fn alone<C: Channels>(o: &Options) -> Outcome {
    run_alone(o, |operations| {
        let (to, from) = C::bounded(o.amount);
        let mut sum = 0;
        for i in 0..operations {
            C::send(&to, i);
            sum += C::recv(&from);
        }
        assert_eq!(sum, operations * (operations - 1) / 2, "the sum");
    })
}

enum End<C: Channels> {
    /// Sends so many elements, of which the first is this.
    Sends(C::Sender, u64, u64),
    /// Receives so many.
    Receives(C::Receiver, u64),
    /// Receives so many, which are 0, 1, ...
    ReceivesInOrder(C::Receiver, u64),
}

/// Returns the sum of what has gone through.
fn play<C: Channels>(end: End<C>) -> u64 {
    let mut sum = 0u64;
    match end {
        End::Sends(to, first, count) => {
            for value in first..first + count {
                sum = sum.wrapping_add(value);
                C::send(&to, value);
            }
        }
        End::Receives(from, count) => {
            for _ in 0..count {
                sum = sum.wrapping_add(C::recv(&from));
            }
        }
        End::ReceivesInOrder(from, count) => {
            for expected in 0..count {
                let value = C::recv(&from);
                assert_eq!(value, expected, "out of order");
                sum = sum.wrapping_add(value);
            }
        }
    }
    sum
}

/// As many receive as send.
fn many<C: Channels>(o: &Options, senders: usize) -> Outcome {
    let pass = |operations: u64| {
        let (to, from) = C::bounded(o.amount);
        let sends = (0..senders).map(|i| End::Sends(to.clone(), (i as u64) << 32, operations));
        let receive = if senders == 1 {
            End::ReceivesInOrder
        } else {
            End::Receives
        };
        let receives = (0..senders).map(|_| receive(from.clone(), operations));
        let ends: Vec<End<C>> = sends.chain(receives).collect();
        drop((to, from));
        let works = ends.into_iter().map(|end| || play(end)).collect();
        let done = crew(works, || ());
        let add = |sums: &[u64]| sums.iter().fold(0, |a: u64, b| a.wrapping_add(*b));
        let (sent, received) = done.results.split_at(senders);
        assert_eq!(add(sent), add(received), "the sum of what was received");
        done.outcome(operations * senders as u64)
    };
    pass(o.warm_up());
    pass(o.operations)
}

/// A permit is an element of a channel of one.
struct Mailbox(crossbeam::Sender<()>, crossbeam::Receiver<()>);

impl Gate for Mailbox {
    fn new() -> Self {
        let (to, from) = crossbeam::bounded(1);
        Mailbox(to, from)
    }

    fn give(&self) {
        self.0.send(()).expect("closed")
    }

    fn take(&self) {
        self.1.recv().expect("closed")
    }
}

fn run<C: Channels>(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-chan" => Some(alone::<C>(o)),
        "mpmc" => Some(many::<C>(o, o.tasks / 2)),
        "spsc" => Some(many::<C>(o, 1)),
        _ => None,
    }
}

pub fn run_crossbeam(o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "pingpong" | "wake" => handoff::run::<Mailbox>(o),
        _ => run::<Crossbeam>(o),
    }
}

pub fn run_flume(o: &Options) -> Option<Outcome> {
    run::<Flume>(o)
}

//! Threads: chan_threads.c, and as many of them as there are tasks elsewhere.

use std::thread;
use std::time::Instant;

use crate::{measure, Options, Outcome, Span};

type Work = Box<dyn FnOnce() -> u64 + Send>;

fn crew(works: Vec<Work>) -> (Vec<Span>, Vec<u64>) {
    let threads: Vec<_> = works
        .into_iter()
        .map(|work| {
            thread::spawn(move || {
                let start = Instant::now();
                let sum = work();
                ((start, Instant::now()), sum)
            })
        })
        .collect();
    threads.into_iter().map(|t| t.join().unwrap()).unzip()
}

macro_rules! engine {
    ($name:ident, $bounded:path) => {
        pub mod $name {
            use super::*;

            fn pair(o: &Options) -> Outcome {
                measure(o, 1, |operations| {
                    let (tx, rx) = $bounded(o.capacity);
                    let start = Instant::now();
                    let mut sum = 0u64;
                    for i in 0..operations {
                        tx.send(i).unwrap();
                        sum = sum.wrapping_add(rx.recv().unwrap());
                    }
                    let end = Instant::now();
                    assert_eq!(sum, operations * (operations - 1) / 2);
                    vec![(start, end)]
                })
            }

            /// As many receive as send.
            fn many(o: &Options, senders: usize) -> Outcome {
                measure(o, senders as u64, |operations| {
                    let (tx, rx) = $bounded(o.capacity);
                    let mut works: Vec<Work> = Vec::new();
                    for index in 0..senders {
                        let tx = tx.clone();
                        works.push(Box::new(move || {
                            let mut sum = 0u64;
                            for i in 0..operations {
                                let value = (index as u64) << 32 | i;
                                sum = sum.wrapping_add(value);
                                tx.send(value).unwrap();
                            }
                            sum
                        }));
                    }
                    for _ in 0..senders {
                        let rx = rx.clone();
                        works.push(Box::new(move || {
                            let mut sum = 0u64;
                            for _ in 0..operations {
                                sum = sum.wrapping_add(rx.recv().unwrap());
                            }
                            sum
                        }));
                    }
                    let (spans, sums) = crew(works);
                    let add = |sums: &[u64]| sums.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                    assert_eq!(add(&sums[..senders]), add(&sums[senders..]));
                    spans
                })
            }

            pub fn run(workload: &str, o: &Options) -> Option<Outcome> {
                match workload {
                    "pair" => Some(pair(o)),
                    "mpmc" => Some(many(o, o.tasks / 2)),
                    "spsc" => Some(many(o, 1)),
                    _ => None,
                }
            }
        }
    };
}

engine!(crossbeams, crossbeam_channel::bounded);
engine!(flumes, flume::bounded);

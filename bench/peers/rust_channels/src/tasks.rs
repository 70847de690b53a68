//! Tasks on Tokio's runtime: chan_tasks.c. One module for each channel, which differ in the names
//! of their methods, and in whether a receiver can be cloned.

use std::future::Future;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::{measure, Options, Outcome, Span};

fn runtime(o: &Options) -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(o.workers)
        .build()
        .expect("runtime")
}

async fn timed<F: Future<Output = u64>>(work: F) -> (Span, u64) {
    let start = Instant::now();
    let sum = work.await;
    ((start, Instant::now()), sum)
}

/// Spawn these from a task of the runtime, join them there. Returns their spans and sums.
fn crew<F>(rt: &Runtime, works: Vec<F>) -> (Vec<Span>, Vec<u64>)
where
    F: Future<Output = u64> + Send + 'static,
{
    let root = rt.spawn(async move {
        let crew: Vec<_> = works.into_iter().map(|w| tokio::spawn(timed(w))).collect();
        let mut done = Vec::with_capacity(crew.len());
        for task in crew {
            done.push(task.await.unwrap());
        }
        done
    });
    rt.block_on(root).unwrap().into_iter().unzip()
}

macro_rules! engine {
    ($name:ident, $bounded:path, $send:ident, $recv:ident, $receivers:expr) => {
        #[allow(unused_mut)]
        pub mod $name {
            use super::*;
            use std::pin::Pin;

            type Work = Pin<Box<dyn Future<Output = u64> + Send>>;

            fn pair(rt: &Runtime, o: &Options) -> Outcome {
                let capacity = o.capacity;
                measure(o, 1, |operations| {
                    let (tx, mut rx) = $bounded(capacity);
                    let work = async move {
                        let mut sum = 0u64;
                        for i in 0..operations {
                            tx.$send(i).await.unwrap();
                            sum = sum.wrapping_add(rx.$recv().await.unwrap());
                        }
                        sum
                    };
                    let (spans, sums) = crew(rt, vec![work]);
                    assert_eq!(sums[0], operations * (operations - 1) / 2);
                    spans
                })
            }

            fn mpmc(rt: &Runtime, o: &Options) -> Outcome {
                let senders = o.tasks / 2;
                measure(o, senders as u64, |operations| {
                    let (tx, rx) = $bounded(o.capacity);
                    let mut works: Vec<Work> = Vec::new();
                    for index in 0..senders {
                        let tx = tx.clone();
                        works.push(Box::pin(async move {
                            let mut sum = 0u64;
                            for i in 0..operations {
                                let value = (index as u64) << 32 | i;
                                sum = sum.wrapping_add(value);
                                tx.$send(value).await.unwrap();
                            }
                            sum
                        }));
                    }
                    let receivers = $receivers(rx, senders);
                    let share = operations * senders as u64 / receivers.len() as u64;
                    for mut rx in receivers {
                        works.push(Box::pin(async move {
                            let mut sum = 0u64;
                            for _ in 0..share {
                                sum = sum.wrapping_add(rx.$recv().await.unwrap());
                            }
                            sum
                        }));
                    }
                    drop(tx);
                    let (spans, sums) = crew(rt, works);
                    let add = |sums: &[u64]| sums.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                    assert_eq!(add(&sums[..senders]), add(&sums[senders..]));
                    spans
                })
            }

            fn pingpong(rt: &Runtime, o: &Options) -> Outcome {
                let capacity = o.capacity;
                measure(o, 2, |operations| {
                    let (to_1, mut at_1) = $bounded(capacity);
                    let (to_0, mut at_0) = $bounded(capacity);
                    let first: Work = Box::pin(async move {
                        let mut sum = 0u64;
                        for i in 0..operations {
                            to_1.$send(i + 1).await.unwrap();
                            sum = sum.wrapping_add(at_0.$recv().await.unwrap());
                        }
                        sum
                    });
                    let second: Work = Box::pin(async move {
                        let mut sum = 0u64;
                        for _ in 0..operations {
                            let value = at_1.$recv().await.unwrap();
                            sum = sum.wrapping_add(value);
                            to_0.$send(value).await.unwrap();
                        }
                        sum
                    });
                    let (spans, sums) = crew(rt, vec![first, second]);
                    assert_eq!(sums[0], sums[1]);
                    spans
                })
            }

            pub fn run(workload: &str, o: &Options) -> Option<Outcome> {
                let rt = runtime(o);
                match workload {
                    "pair" => Some(pair(&rt, o)),
                    "mpmc" => Some(mpmc(&rt, o)),
                    "pingpong" => Some(pingpong(&rt, o)),
                    _ => None,
                }
            }
        }
    };
}

fn cloned<R: Clone>(rx: R, count: usize) -> Vec<R> {
    vec![rx; count]
}

/// It has one receiver, who gets everything.
fn alone<R>(rx: R, _count: usize) -> Vec<R> {
    vec![rx]
}

engine!(async_channels, async_channel::bounded, send, recv, cloned);
engine!(flumes, flume::bounded, send_async, recv_async, cloned);
engine!(mpscs, tokio::sync::mpsc::channel, send, recv, alone);

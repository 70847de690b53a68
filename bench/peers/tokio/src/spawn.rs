//! Spawn and join in batches: rt_spawn.c.

use std::time::Instant;

use tokio::runtime::Runtime;

use crate::cpu::cpu_ns;
use crate::{Options, Outcome};

async fn batches(tasks: usize, operations: u64) -> f64 {
    let mut handles = Vec::with_capacity(tasks);
    let mut sum = 0;
    let start = Instant::now();
    for _ in 0..operations {
        for i in 0..tasks {
            handles.push(tokio::spawn(async move { i as u64 }));
        }
        for handle in handles.drain(..) {
            sum += handle.await.unwrap();
        }
    }
    let ns = start.elapsed().as_nanos() as f64;
    let count = tasks as u64;
    assert_eq!(sum, operations * (count * (count - 1) / 2));
    ns / (operations as f64 * tasks as f64)
}

pub fn spawn(rt: &Runtime, o: &Options) -> Outcome {
    rt.block_on(rt.spawn(batches(o.tasks, o.operations / 8 + 1)))
        .unwrap();
    let cpu_before = cpu_ns();
    let ns = rt
        .block_on(rt.spawn(batches(o.tasks, o.operations)))
        .unwrap();
    let cpu_ns = (cpu_ns() - cpu_before) / (o.operations as f64 * o.tasks as f64);
    Outcome {
        ns,
        cpu_ns,
        overlap: 0.0,
        bytes: 0.0,
    }
}

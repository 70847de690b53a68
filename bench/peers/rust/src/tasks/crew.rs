//! Some tasks that begin together and are awaited together.

use std::future::Future;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::options::Options;
use crate::outcome::{Outcome, Pass, Span};
use crate::process::cpu_ns;

async fn timed<F: Future>(work: F) -> (Span, F::Output) {
    let start = Instant::now();
    let result = work.await;
    ((start, Instant::now()), result)
}

/// A task of the runtime spawns and joins them: the main thread would have to wake the workers.
pub fn crew<I, W>(rt: &Runtime, works: I) -> Pass<W::Output>
where
    I: ExactSizeIterator<Item = W> + Send + 'static,
    W: Future + Send + 'static,
    W::Output: Send,
{
    let cpu_before = cpu_ns();
    let root = rt.spawn(async move {
        let mut spans = Vec::with_capacity(works.len());
        let mut results = Vec::with_capacity(works.len());
        let tasks: Vec<_> = works.map(|work| tokio::spawn(timed(work))).collect();
        for task in tasks {
            let (span, result) = task.await.expect("a task");
            spans.push(span);
            results.push(result);
        }
        (spans, results)
    });
    let (spans, results) = rt.block_on(root).expect("the root task");
    let cpu_ns = cpu_ns() - cpu_before;
    Pass {
        spans,
        results,
        cpu_ns,
    }
}

/// o.tasks tasks, first for an eighth of the operations, which does not count. `member` makes the
/// work of a task from its number and its operations.
pub fn run_members<F, W>(rt: &Runtime, o: &Options, member: F) -> Outcome
where
    F: Fn(usize, u64) -> W + Copy + Send + 'static,
    W: Future + Send + 'static,
    W::Output: Send,
{
    let pass = |operations| crew(rt, (0..o.tasks).map(move |i| member(i, operations)));
    pass(o.warm_up());
    pass(o.operations).outcome(o.operations * o.tasks as u64)
}

//! The workloads of bench-chan on Rust's channels: the same command line, the same work, the same
//! JSON. What each workload does is said once, in chan_bench.h. Asynchronous channels are used by
//! tasks on Tokio's runtime, the others by threads, of which there are as many as tasks.

mod cpu;
mod tasks;
mod threads;

use std::process::exit;
use std::time::Instant;

#[derive(Clone, Copy)]
pub struct Options {
    pub workers: usize,
    pub tasks: usize,
    pub capacity: usize,
    pub operations: u64,
}

pub struct Outcome {
    pub ns: f64,
    pub cpu_ns: f64,
    pub overlap: f64,
}

/// When a task began and ended.
pub type Span = (Instant, Instant);

/// Run it twice, first for an eighth of the operations, which does not count. It returns the spans
/// of those who work; `each` is how many elements, or hops, there are to an operation.
pub fn measure<F: FnMut(u64) -> Vec<Span>>(o: &Options, each: u64, mut run: F) -> Outcome {
    run(o.operations / 8 + 1);
    let cpu_before = cpu::cpu_ns();
    let spans = run(o.operations);
    let cpu_ns = cpu::cpu_ns() - cpu_before;
    let first = spans.iter().map(|s| s.0).min().unwrap();
    let last = spans.iter().map(|s| s.1).max().unwrap();
    let whole = (last - first).as_nanos() as f64;
    let own: f64 = spans.iter().map(|s| (s.1 - s.0).as_nanos() as f64).sum();
    let all = (o.operations * each) as f64;
    Outcome {
        ns: whole / all,
        cpu_ns: cpu_ns / all,
        overlap: own / whole / spans.len() as f64,
    }
}

fn usage() -> ! {
    eprintln!(
        "usage: bench-chan-rust pair|mpmc|pingpong|spsc [--workers N] [--tasks N] [--capacity N]\n\
         \x20                      [--operations N] [--engine NAME]\n\
         \x20 --engine NAME  async-channel flume tokio: pair, mpmc, pingpong by tasks;\n\
         \x20                crossbeam flume-threads: by threads"
    );
    exit(2)
}

fn parse() -> (String, String, Options) {
    let mut arguments = std::env::args().skip(1);
    let workload = arguments.next().unwrap_or_else(|| usage());
    let mut engine = "async-channel".to_string();
    let mut options = Options {
        workers: 1,
        tasks: 8,
        capacity: 64,
        operations: 10000,
    };
    while let Some(name) = arguments.next() {
        let text = arguments.next().unwrap_or_else(|| usage());
        if name == "--engine" {
            engine = text;
            continue;
        }
        let value = text.parse::<u64>().ok().filter(|&v| v >= 1);
        let value = value.unwrap_or_else(|| usage());
        match name.as_str() {
            "--workers" => options.workers = value as usize,
            "--tasks" => options.tasks = value as usize,
            "--capacity" => options.capacity = value as usize,
            "--operations" => options.operations = value,
            _ => usage(),
        }
    }
    (workload, engine, options)
}

fn main() {
    let (workload, engine, o) = parse();
    let tokio = concat!("tokio ", env!("VERSION_TOKIO"));
    let (version, outcome) = match engine.as_str() {
        "async-channel" => (
            concat!("async-channel ", env!("VERSION_ASYNC_CHANNEL")),
            tasks::async_channels::run(&workload, &o),
        ),
        "flume" => (
            concat!("flume ", env!("VERSION_FLUME")),
            tasks::flumes::run(&workload, &o),
        ),
        "tokio" => (tokio, tasks::mpscs::run(&workload, &o)),
        "crossbeam" => (
            concat!("crossbeam-channel ", env!("VERSION_CROSSBEAM")),
            threads::crossbeams::run(&workload, &o),
        ),
        "flume-threads" => (
            concat!("flume ", env!("VERSION_FLUME")),
            threads::flumes::run(&workload, &o),
        ),
        _ => usage(),
    };
    let outcome = outcome.unwrap_or_else(|| usage());
    println!(
        "{{\"runtime\": \"rust\", \"version\": \"{}\", \"workload\": \"{}\", \"engine\": \"{}\", \
         \"workers\": {}, \"tasks\": {}, \"capacity\": {}, \"operations\": {}, \"ns\": {:.6}, \
         \"cpu_ns\": {:.6}, \"overlap\": {:.6}}}",
        version,
        workload,
        engine,
        o.workers,
        o.tasks,
        o.capacity,
        o.operations,
        outcome.ns,
        outcome.cpu_ns,
        outcome.overlap
    );
}

//! The workloads of bench-rt on Tokio: the same command line, the same work, the same JSON. What
//! each workload does is said once, in rt_bench.h.

mod cpu;
mod crew;
mod parked;
mod spawn;

use std::process::exit;

pub struct Options {
    pub workload: String,
    pub workers: usize,
    pub tasks: usize,
    pub permits: usize,
    pub operations: u64,
}

pub struct Outcome {
    pub ns: f64,
    pub cpu_ns: f64,
    pub overlap: f64,
    pub bytes: f64,
}

fn usage() -> ! {
    eprintln!(
        "usage: bench-rt-tokio sem|held|mutex|yield|pingpong|spawn|parked [--workers N]\n\
         \x20                     [--tasks N] [--permits N] [--operations N]"
    );
    exit(2)
}

fn parse() -> Options {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        workload: arguments.next().unwrap_or_else(|| usage()),
        workers: 1,
        tasks: 8,
        permits: 2,
        operations: 10000,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|text| text.parse::<u64>().ok());
        let value = value
            .filter(|&v| v >= 1 || name == "--permits")
            .unwrap_or_else(|| usage());
        match name.as_str() {
            "--workers" => options.workers = value as usize,
            "--tasks" => options.tasks = value as usize,
            "--permits" => options.permits = value as usize,
            "--operations" => options.operations = value,
            _ => usage(),
        }
    }
    options
}

fn main() {
    let o = parse();
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(o.workers)
        .build()
        .expect("runtime");
    let outcome = match o.workload.as_str() {
        "sem" => crew::sem(&rt, &o),
        "held" => crew::held(&rt, &o),
        "mutex" => crew::mutex(&rt, &o),
        "yield" => crew::switch(&rt, &o),
        "pingpong" => crew::pingpong(&rt, &o),
        "spawn" => spawn::spawn(&rt, &o),
        "parked" => parked::parked(&rt, &o),
        _ => usage(),
    };
    println!(
        "{{\"runtime\": \"tokio\", \"workload\": \"{}\", \"workers\": {}, \"tasks\": {}, \
         \"permits\": {}, \"operations\": {}, \"ns\": {:.6}, \"cpu_ns\": {:.6}, \
         \"overlap\": {:.6}, \"bytes\": {:.6}}}",
        o.workload,
        o.workers,
        o.tasks,
        o.permits,
        o.operations,
        outcome.ns,
        outcome.cpu_ns,
        outcome.overlap,
        outcome.bytes
    );
}

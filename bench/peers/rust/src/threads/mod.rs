//! Plain threads, as many as there are tasks elsewhere.

mod channels;
mod crew;
mod engines;
mod handoff;
mod locks;

use crate::options::{refuse, Options};
use crate::outcome::Outcome;
use engines::{parking, standard};

const MOST_THREADS: usize = 1024;

/// None if it is no engine of threads, or has no such workload.
pub fn run(o: &Options) -> Option<Outcome> {
    if o.tasks > MOST_THREADS {
        refuse("--tasks is 1..1024 here: they are threads");
    }
    match o.engine.as_str() {
        "parking_lot" => parking::run(o),
        "parking_lot-fair" => parking::run_fair(o),
        "std" => standard::run(o),
        "crossbeam" => channels::run_crossbeam(o),
        "flume-threads" => channels::run_flume(o),
        _ => None,
    }
}

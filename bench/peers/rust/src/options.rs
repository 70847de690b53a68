//! The command line: ../../README.md says what it means.

use std::process::exit;

pub struct Options {
    pub workload: String,
    pub engine: String,
    pub workers: usize,
    pub tasks: usize,
    pub amount: usize,
    pub operations: u64,
}

const MOST_WORKERS: u64 = 1024;
const MOST_TASKS: u64 = 10_000_000;
const MOST_AMOUNT: u64 = 1 << 24;
const MOST_OPERATIONS: u64 = u32::MAX as u64;

const USAGE: &str = "\
usage: bench-rust WORKLOAD [--engine NAME] [--workers N] [--tasks N] [--amount N] [--operations N]
  tasks on Tokio's runtime:
    tokio            alone-mutex alone-sem alone-read alone-write alone-chan mutex sem held rwlock
                     pingpong spawn yield cycles mpmc chan-pingpong parked waits cancel timer
                     alone-notify alone-oneshot alone-broadcast alone-watch alone-barrier alone-once
                     alone-limit alone-drain alone-all notify oneshot broadcast watch barrier once
                     limit all
    tokio-util       alone-token token
    async-lock       alone-mutex alone-sem alone-read alone-write mutex sem held rwlock pingpong
                     cycles parked waits cancel
    async-channel    alone-chan mpmc chan-pingpong
    flume            alone-chan mpmc chan-pingpong
  plain threads:
    parking_lot      alone-mutex alone-sem alone-read alone-write mutex sem rwlock pingpong wake
                     waits timeout
    parking_lot-fair alone-mutex alone-read alone-write mutex rwlock waits timeout
    std              alone-mutex alone-sem alone-read alone-write mutex sem rwlock pingpong wake
                     waits
    crossbeam        alone-chan spsc mpmc pingpong wake
    flume-threads    alone-chan spsc mpmc";

/// Wrong usage, and why.
pub fn refuse(why: &str) -> ! {
    eprintln!("bench-rust: {why}\n{USAGE}");
    exit(2)
}

fn number(name: &str, text: &str, least: u64, most: u64) -> u64 {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => number,
        _ => refuse(&format!("{name} is {least}..{most}, not {text}")),
    }
}

/// What is not said: the tasks and the amount that the workload needs.
fn defaults(workload: &str) -> (usize, usize) {
    match workload {
        "pingpong" | "wake" | "notify" | "oneshot" | "limit" | "token" => (2, 0),
        "all" => (2, 4),
        "broadcast" | "watch" => (5, 0),
        "barrier" | "once" => (4, 0),
        "chan-pingpong" => (2, 1),
        "spsc" => (2, 64),
        "mpmc" => (8, 64),
        "alone-chan" => (1, 64),
        "sem" | "held" => (8, 2),
        "rwlock" => (6, 2),
        "waits" => (8, 1000),
        "cancel" | "timeout" => (8, 10),
        "timer" => (1, 1000),
        _ if workload.starts_with("alone-") => (1, 0),
        _ => (8, 0),
    }
}

impl Options {
    pub fn parse() -> Options {
        let mut arguments = std::env::args().skip(1);
        let workload = arguments
            .next()
            .unwrap_or_else(|| refuse("which workload?"));
        if workload == "--help" {
            println!("{USAGE}");
            exit(0)
        }
        let (tasks, amount) = defaults(&workload);
        let mut o = Options {
            workload,
            engine: "tokio".to_string(),
            workers: 1,
            tasks,
            amount,
            operations: 10000,
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next();
            o.set(
                &name,
                &value.unwrap_or_else(|| refuse(&format!("{name} needs a value"))),
            );
        }
        o.check();
        o
    }

    fn set(&mut self, name: &str, text: &str) {
        match name {
            "--engine" => self.engine = text.to_string(),
            "--workers" => self.workers = number(name, text, 1, MOST_WORKERS) as usize,
            "--tasks" => self.tasks = number(name, text, 1, MOST_TASKS) as usize,
            "--amount" => self.amount = number(name, text, 0, MOST_AMOUNT) as usize,
            "--operations" => self.operations = number(name, text, 1, MOST_OPERATIONS),
            _ => refuse(&format!("no option {name}")),
        }
    }

    /// Numbers with which the workload would hang, or not be what its name says.
    fn check(&self) {
        let (tasks, amount) = (self.tasks, self.amount);
        let wrong = match self.workload.as_str() {
            "pingpong" | "chan-pingpong" | "wake" | "spsc" | "notify" | "oneshot" | "limit"
            | "token"
                if tasks != 2 =>
            {
                "--tasks is 2 here"
            }
            alone if alone.starts_with("alone-") && tasks != 1 => "--tasks is 1 here",
            "broadcast" | "watch" if tasks < 2 => "--tasks is 2 or more here",
            "mpmc" if tasks % 2 != 0 => "--tasks is even here: half of them send",
            "parked" if self.workers != 1 => "--workers is 1 here: so the order is known",
            "rwlock" if amount > tasks => "--amount is how many of --tasks write",
            "cancel" | "timeout" if amount > 100 => "--amount is per cent here",
            "sem" | "held" | "all" | "alone-chan" | "mpmc" | "chan-pingpong" | "spsc"
                if amount == 0 =>
            {
                "--amount is 1 or more here"
            }
            _ => return,
        };
        refuse(wrong)
    }

    /// Whether a task's acquire number k is one that is given up: amount per cent, evenly spread.
    pub fn gives_up(&self, k: u64) -> bool {
        let amount = self.amount as u64;
        k * amount / 100 != (k + 1) * amount / 100
    }

    /// Operations of the pass that does not count.
    pub fn warm_up(&self) -> u64 {
        (self.operations / 8).max(1)
    }
}

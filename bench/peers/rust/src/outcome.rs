//! What a run has measured, and how it is said.

use std::time::Instant;

use crate::histogram::Histogram;

/// When a task began and ended.
pub type Span = (Instant, Instant);

/// What the tasks of one pass have to say: when each worked, and what each has returned.
pub struct Pass<T> {
    pub spans: Vec<Span>,
    pub results: Vec<T>,
    pub cpu_ns: f64,
}

/// The fields of the line of JSON; those that are not measured are None.
#[derive(Default)]
pub struct Outcome {
    pub ns: f64,
    pub cpu_ns: Option<f64>,
    pub overlap: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    pub longest_ns: Option<f64>,
    pub slowest_share: Option<f64>,
    pub lost: Option<f64>,
    pub bytes: Option<f64>,
    pub allocations: Option<f64>,
}

impl<T> Pass<T> {
    /// From the first start to the last end, over so many operations.
    pub fn outcome(&self, operations: u64) -> Outcome {
        let first = self.spans.iter().map(|s| s.0).min().expect("a task");
        let last = self.spans.iter().map(|s| s.1).max().expect("a task");
        let whole = (last - first).as_nanos() as f64;
        let own: f64 = self
            .spans
            .iter()
            .map(|s| (s.1 - s.0).as_nanos() as f64)
            .sum();
        Outcome {
            ns: whole / operations as f64,
            cpu_ns: Some(self.cpu_ns / operations as f64),
            overlap: Some(own / whole / self.spans.len() as f64),
            ..Outcome::default()
        }
    }
}

/// Operations of the slowest over those of the fastest.
pub fn slowest_share(operations: impl Iterator<Item = u64> + Clone) -> Option<f64> {
    let slowest = operations.clone().min()?;
    Some(slowest as f64 / operations.max()? as f64)
}

impl Outcome {
    pub fn with_waits(self, waits: &Histogram) -> Outcome {
        Outcome {
            p50_ns: Some(waits.quantile(0.5)),
            p99_ns: Some(waits.quantile(0.99)),
            p999_ns: Some(waits.quantile(0.999)),
            longest_ns: Some(waits.longest() as f64),
            ..self
        }
    }

    pub fn print(&self, version: &str) {
        let fields = [
            ("cpu_ns", self.cpu_ns),
            ("overlap", self.overlap),
            ("p50_ns", self.p50_ns),
            ("p99_ns", self.p99_ns),
            ("p999_ns", self.p999_ns),
            ("longest_ns", self.longest_ns),
            ("slowest_share", self.slowest_share),
            ("lost", self.lost),
            ("bytes", self.bytes),
            ("allocations", self.allocations),
        ];
        let mut line = format!("{{\"version\": \"{version}\", \"ns\": {:.6}", self.ns);
        for (name, value) in fields {
            if let Some(value) = value {
                line += &format!(", \"{name}\": {value:.6}");
            }
        }
        println!("{line}}}");
    }
}

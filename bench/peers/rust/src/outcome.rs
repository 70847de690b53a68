//! What a run has measured, and how it is said.

use std::time::Instant;

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

const BITS: u32 = 5;
const STEPS: u64 = 1 << BITS;
const BUCKETS: usize = (64 - BITS as usize + 1) << BITS;

/// Latencies by size: log-linear, 32 buckets for every power of two, so a quantile is right within
/// 3 %. Adding allocates nothing.
pub struct Histogram {
    count: u64,
    longest: u64,
    buckets: Box<[u64]>,
}

/// Values below STEPS have a bucket each; above, the top six bits of the value name the bucket.
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros() - BITS; // 0 for STEPS..2 * STEPS
    ((u64::from(octave) + 1) * STEPS + (value >> octave) % STEPS) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let octave = bucket / STEPS - 1;
    let low = (STEPS + bucket % STEPS) << octave;
    low + ((1 << octave) >> 1)
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram {
            count: 0,
            longest: 0,
            buckets: vec![0; BUCKETS].into_boxed_slice(),
        }
    }

    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.longest = self.longest.max(value);
        self.buckets[bucket(value)] += 1;
    }

    pub fn merged<'a>(all: impl Iterator<Item = &'a Histogram>) -> Histogram {
        let mut sum = Histogram::new();
        for one in all {
            sum.count += one.count;
            sum.longest = sum.longest.max(one.longest);
            for (into, from) in sum.buckets.iter_mut().zip(one.buckets.iter()) {
                *into += from;
            }
        }
        sum
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The value below which the fraction `share` of all values lie; 0 if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64) as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen > rank {
                return middle(bucket).min(self.longest) as f64;
            }
        }
        self.longest as f64
    }
}

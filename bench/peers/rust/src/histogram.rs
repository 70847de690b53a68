//! Latencies by size: log-linear, 32 buckets for every power of two, so a quantile is right within
//! 3 %. Adding allocates nothing.

const BITS: u32 = 5;
const STEPS: u64 = 1 << BITS;
const BUCKETS: usize = (64 - BITS as usize + 1) << BITS;

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

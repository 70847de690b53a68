//! What the system knows of this process, and the clock.

use std::time::{Duration, Instant};

/// CPU time of this process.
pub fn cpu_ns() -> f64 {
    let mut used = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the memory is ours.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) };
    assert_eq!(result, 0, "clock_gettime");
    used.tv_sec as f64 * 1e9 + used.tv_nsec as f64
}

pub fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse::<f64>().ok());
    // SAFETY: it only asks.
    pages.expect("statm") * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

/// The calling thread, as /proc names it.
pub fn thread_id() -> libc::pid_t {
    // SAFETY: it only asks.
    unsafe { libc::gettid() }
}

/// A loop on the clock.
pub fn work(length: Duration) {
    let start = Instant::now();
    while start.elapsed() < length {}
}

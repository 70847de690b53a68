//! What the system knows of this process, the clock, and how often the allocator is called.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

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

// ---- calls of the allocator; while they are not counted, all it costs is a branch ----

const SLOTS: usize = 16;

static COUNTING: CachePadded<AtomicBool> = CachePadded::new(AtomicBool::new(false));
static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);
static COUNTS: [CachePadded<AtomicU64>; SLOTS] = {
    #[allow(clippy::declare_interior_mutable_const)] // it is what an array is made from
    const ZERO: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));
    [ZERO; SLOTS]
};

thread_local! {
    /// Threads count apart, so that counting does not make them meet. No destructor: it would
    /// allocate.
    static SLOT: Cell<usize> = const { Cell::new(SLOTS) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cold]
fn count() {
    SLOT.with(|slot| {
        if slot.get() == SLOTS {
            slot.set(NEXT_SLOT.fetch_add(1, Relaxed) % SLOTS);
        }
        COUNTS[slot.get()].fetch_add(1, Relaxed);
    });
}

#[inline]
fn see() {
    if COUNTING.load(Relaxed) {
        count();
    }
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        see();
        System.alloc(layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        see();
        System.alloc_zeroed(layout)
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        see();
        System.realloc(old, layout, size)
    }

    #[inline]
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        System.dealloc(old, layout)
    }
}

/// Count from now on, from 0.
pub fn count_allocations() {
    COUNTS.iter().for_each(|slot| slot.store(0, Relaxed));
    COUNTING.store(true, Relaxed);
}

/// Count no more. Returns how many there were.
pub fn allocations_counted() -> u64 {
    COUNTING.store(false, Relaxed);
    COUNTS.iter().map(|slot| slot.load(Relaxed)).sum()
}

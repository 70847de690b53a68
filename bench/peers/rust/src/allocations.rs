//! Counts the calls of the allocator while it is told to. Otherwise all it costs is a branch.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

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
pub fn start() {
    COUNTS.iter().for_each(|slot| slot.store(0, Relaxed));
    COUNTING.store(true, Relaxed);
}

/// Count no more. Returns how many there were.
pub fn stop() -> u64 {
    COUNTING.store(false, Relaxed);
    COUNTS.iter().map(|slot| slot.load(Relaxed)).sum()
}

//! CPU time of this process, which the standard library does not tell.

#[repr(C)]
struct Timespec {
    seconds: i64, // as on every 64-bit Linux
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;

pub fn cpu_ns() -> f64 {
    let mut used = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the clock exists, and the struct is the C library's timespec.
    let result = unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut used) };
    assert_eq!(result, 0);
    used.seconds as f64 * 1e9 + used.nanoseconds as f64
}

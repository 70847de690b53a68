/* ticks.c: a clock that only its readers move. compare/instructions.py preloads it when it counts.
 *
 * How often a worker looks at the clock and at the injection queue follows from how long its polls
 * take (src/rt/sched/worker.c). callgrind makes a poll fifty times as long, and another load on the
 * machine longer still; then the worker looks more often, and what that takes is counted. With this
 * clock a poll takes no time, as good as in a program that is not counted: each reading is TICK_NS
 * after the last one, by any thread. Other clocks are the system's. */
#define _GNU_SOURCE /* syscall */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 100, SECOND_NS = 1000000000 };

static _Atomic uint64_t ticks_now_ns;

/* It begins with the system's, because the kernel compares deadlines of futexes with that. */
static __attribute__((constructor)) void ticks_begin(void) {
  struct timespec now;
  if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0) _exit(1);
  atomic_store(&ticks_now_ns, (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *into) {
  if (clock != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, clock, into);
  uint64_t ns = atomic_fetch_add(&ticks_now_ns, TICK_NS) + TICK_NS;
  *into = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
  return 0;
}

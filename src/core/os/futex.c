/* futex.c: sleep and wake by address, on Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "futex.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "probe.h"

/* As in <linux/futex.h>, which not every system has. */
enum { WAKE_PRIVATE = 1 | 128, WAIT_BITSET_PRIVATE = 9 | 128 };
static const uint32_t match_any = UINT32_MAX;

/* Where time_t is wider than long, another system call takes such times. */
#ifdef SYS_futex_time64
static const long sys_futex = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex;
#else
static const long sys_futex = SYS_futex;
#endif

/* CLOCK_MONOTONIC counts from the start of the machine, so 32 bits last for 68 years. */
static time_t futex_seconds(uint64_t ns) {
  uint64_t seconds = ns / 1000000000u;
  return sizeof(time_t) < 8 && seconds > INT32_MAX ? INT32_MAX : (time_t)seconds;
}

int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  struct timespec deadline;
  struct timespec *until = NULL;
  if (deadline_ns != VOLT_NO_DEADLINE) {
    deadline.tv_sec = futex_seconds(deadline_ns);
    deadline.tv_nsec = (long)(deadline_ns % 1000000000u);
    until = &deadline;
  }
  int saved = errno;
  int result = VOLT_OK;
  VOLT_PROBE3(thread__sleep, word, seen, deadline_ns);
  /* WAIT_BITSET, because its timeout is absolute, on CLOCK_MONOTONIC */
  long rc = syscall(sys_futex, word, WAIT_BITSET_PRIVATE, seen, until, NULL, match_any);
  if (rc != 0) {
    VOLT_CHECK(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT, "futex",
               "wait at %#" PRIxPTR " failed with errno %d", (uintptr_t)word, errno);
    if (errno == ETIMEDOUT) result = VOLT_ETIMEDOUT;
  }
  VOLT_PROBE2(thread__wake, word, result);
  errno = saved;
  return result;
}

void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count) {
  int saved = errno;
  /* the address may be unmapped by now, which is not an error here */
  (void)syscall(sys_futex, word, WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
}

void volt_yield_(void) {
  (void)sched_yield();
}

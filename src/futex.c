/* futex.c: sleep and wake by address, on Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns) {
  struct timespec deadline;
  struct timespec *until = NULL;
  if (deadline_ns != VOLT_NO_DEADLINE) {
    deadline.tv_sec = (time_t)(deadline_ns / 1000000000u);
    deadline.tv_nsec = (long)(deadline_ns % 1000000000u);
    until = &deadline;
  }
  int saved = errno;
  int result = VOLT_OK;
  /* WAIT_BITSET, because its timeout is absolute, on CLOCK_MONOTONIC */
  long rc = syscall(SYS_futex, (void *)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, until,
                    NULL, FUTEX_BITSET_MATCH_ANY);
  if (rc != 0) {
    VOLT_CHECK(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT, "futex",
               "wait at %p failed with errno %d", (void *)word, errno);
    if (errno == ETIMEDOUT) result = VOLT_ETIMEDOUT;
  }
  errno = saved;
  return result;
}

void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count) {
  int saved = errno;
  /* the address may be unmapped by now: that is no error here */
  (void)syscall(SYS_futex, (void *)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
  errno = saved;
}

void volt_yield_(void) {
  (void)sched_yield();
}

void **volt_thread_slot_(void) {
  static _Thread_local void *slot;
  return &slot;
}

uint64_t *volt_thread_random_(void) {
  static _Thread_local uint64_t state;
  return &state;
}

bool *volt_thread_may_not_block_(void) {
  static _Thread_local bool may_not;
  return &may_not;
}

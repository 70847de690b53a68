/* futex_hook.h: stand between the library and the kernel.
 *
 * syscall(2) is replaced within the test executable. A hook sees every futex call and decides what
 * comes of it, so that "the thread sleeps, and then ..." needs neither a second thread nor time. */
#ifndef VOLT_TEST_FUTEX_HOOK_H
#define VOLT_TEST_FUTEX_HOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct futex_call {
  bool is_wait; /* else it is a wake */
  uint32_t *address;
  uint32_t value;                 /* wait: what is expected there; wake: how many */
  const struct timespec *timeout; /* of a wait, or NULL */
} futex_call;

/* What the library is to see. */
typedef enum futex_outcome {
  FUTEX_REAL,     /* do the call */
  FUTEX_RETURN_0, /* woken, maybe for no reason; or nobody was there to wake */
  FUTEX_EINTR,
  FUTEX_EAGAIN,
  FUTEX_ETIMEDOUT
} futex_outcome;

typedef futex_outcome (*futex_hook_fn)(void *arg, const futex_call *call);

/* From now on hook(arg, ...) decides, on every thread; NULL: nobody. */
void futex_hook_set(futex_hook_fn hook, void *arg);

#endif

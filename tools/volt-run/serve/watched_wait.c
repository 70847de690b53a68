/* watched_wait.c: a wait in a queue of ours, with what the books note of it, and the search for deadlocks. The thread
 * keeps its place meanwhile. */
#define _GNU_SOURCE
#include <errno.h>

#include "serve/serve.h"
#include "watch/circle.h"
#include "watch/wait.h"

enum { STACK_AFTER_MS = 2 };

static void watched_end(void *ctx) {
  wait_end((struct wait *)ctx, false);
}

/* Before it looks for deadlocks, most waits are over. A semaphore's is not divided: a signal may end it at any time. */
static int watched_at_first(struct queued *q, uint64_t since_ns) {
  if (q->ends & QUEUED_BY_SIGNAL) return ETIMEDOUT;
  uint64_t until_ns = since_ns + STACK_AFTER_MS * UINT64_C(1000000);
  const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
  return queued_attempt(q, &until);
}

int serve_watched_wait(struct queued *q, struct books_thread *self, uint32_t lock, unsigned how,
                       uintptr_t at) {
  struct wait w;
  int result;
  wait_begin(&w, self, lock, how, at);
  pthread_cleanup_push(watched_end, &w);
  result = watched_at_first(q, w.since_ns);
  if (result == ETIMEDOUT) {
    wait_take_stack(&w);
    result = circle_check(&w, queued_attempt, q);
    if (result == ETIMEDOUT) result = queued_wait(q, CLOCK_MONOTONIC, NULL);
  }
  pthread_cleanup_pop(0);
  wait_end(&w, result == 0);
  return result;
}

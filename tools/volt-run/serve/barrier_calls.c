/* barrier_calls.c: barriers: volt_barrier. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "serve/calls.h"
#include "serve/serve.h"

/* It has no static initialiser: without a mark it is glibc's. */
static struct served *barrier_of(const pthread_barrier_t *b) {
  return served_find(b, SERVED_BARRIER_PLACE);
}

static void barrier_starts(struct queued *q, void *barrier) {
  volt_future_made(volt_barrier_wait_future(&q->future, (volt_barrier *)barrier));
}

int served_pthread_barrier_wait(pthread_barrier_t *b) {
  struct served *s = barrier_of(b);
  if (!s) return glibc.pthread_barrier_wait(b);
  struct queued q;
  served_check_fork();
  queued_begin(&q, s, 0, NULL);
  queued_start(&q, barrier_starts, &s->is.barrier);
  int result = queued_poll(&q);
  if (result == EINPROGRESS) result = queued_wait(&q, CLOCK_MONOTONIC, NULL);
  bool is_leader =
      result == 0 && volt_future_poll(&q.future, (volt_waker){NULL, NULL}) == VOLT_LEADER;
  return is_leader ? PTHREAD_BARRIER_SERIAL_THREAD : result;
}

int served_pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attributes,
                                unsigned count) {
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (served_is_in_use(b, SERVED_BARRIER_PLACE)) return EBUSY;
  int result = glibc.pthread_barrier_init(b, attributes, count);
  if (result != 0) return result;
  if (attributes) (void)pthread_barrierattr_getpshared(attributes, &shared);
  served_end_life(b, SERVED_BARRIER_PLACE); /* glibc leaves there what was there */
  struct served *s = shared == PTHREAD_PROCESS_PRIVATE
                         ? served_begin_life(b, SERVED_BARRIER_PLACE, BOOKS_BARRIER, true)
                         : NULL;
  if (s) volt_barrier_init(&s->is.barrier, count);
  return 0;
}

/* glibc waits here for threads that have not arrived yet. */
int served_pthread_barrier_destroy(pthread_barrier_t *b) {
  struct served *s = barrier_of(b);
  if (!s) return glibc.pthread_barrier_destroy(b);
  served_check_fork();
  while (volt_load_acquire(&s->is.queue.word) & VOLT_WORD_ALL_RETURNING_) sched_yield();
  if (volt_barrier_waiters(&s->is.barrier) > 0) return EBUSY;
  served_end_life(b, SERVED_BARRIER_PLACE);
  return glibc.pthread_barrier_destroy(b);
}

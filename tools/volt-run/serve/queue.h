/* queue.h: a thread in the queue of one of volt's objects, and its sleep there. */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "serve/objects.h"

/* What may end the sleep, beside what it waits for. */
enum queued_ends {
  QUEUED_BY_CANCEL = 1, /* it is a place where a thread may be cancelled */
  QUEUED_BY_SIGNAL = 2  /* a handler; and handlers use the object, too */
};

struct queued;

/* How its wait begins: makes the future. volts: the object of volt that it waits for. */
typedef void queued_starts(struct queued *q, void *volts);

/* Of the thread that waits; on its stack. */
struct queued {
  volt_future future;
  VOLT_PLAIN(struct served *) object;
  queued_starts *start;
  void *volts;
  uint32_t forks;             /* served_forks, when the future was made */
  VOLT_ATOMIC(uint32_t) came; /* the future's wakes and drops, times 2; bit 0: the thread sleeps */
  uint32_t due;               /* how many have to come */
  uint32_t seen;              /* how many had come at the last poll */
  unsigned ends;
  int type, state;            /* of cancelling, before */
  VOLT_PLAIN(bool) was_woken; /* by a grant, or to look */
  bool is_masked;             /* no handler runs during this attempt */
  sigset_t mask;              /* before */
  void (*taken)(struct served *object);
};

/* This thread is going to be in a queue. Until queued_end() it is cancelled only where it sleeps.
 * taken: called when it has the object. queued_start() has to follow. */
void queued_begin(struct queued *q, struct served *object, unsigned ends,
                  void (*taken)(struct served *object));

/* Make the future. start is called again in the child of a fork that a handler makes meanwhile. */
void queued_start(struct queued *q, queued_starts *start, void *volts);

/* The wait for a mutex. */
void queued_for_mutex(struct queued *q, void *mutex);
void queued_end(struct queued *q);

/* Start the future, or ask whether it is ready. Returns 0: it has the object, and has ended; or EINPROGRESS. */
int queued_poll(struct queued *q);

/* Out of the queue, and the end. What was granted meanwhile goes on to the next. */
void queued_leave(struct queued *q);

/* Sleep until it has the object. until: NULL: for ever.
 * Returns 0: it has the object, and queued_end() was called; ETIMEDOUT, EINTR: it has not, and is not queued any
 * more; ECHILD: the same, of a condition in the child of a fork that a handler has made meanwhile. */
int queued_wait(struct queued *q, clockid_t clock, const struct timespec *until);

/* The same for a while, for circle_check(): on CLOCK_MONOTONIC; no handler runs meanwhile that could end the wait.
 * Returns ETIMEDOUT: it is still queued, where it was. */
int queued_attempt(void *queued, const struct timespec *until);

/* Lock *m, however long that takes; no cancel ends it. taken: as for queued_begin(); may be NULL. */
void queued_lock(volt_mutex *m, struct served *object, void (*taken)(struct served *object));

/* Whether it is a time that a futex takes. Returns 0, or EINVAL. */
static inline int queued_check_time(clockid_t clock, const struct timespec *until) {
  bool is_clock = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  return is_clock && until->tv_nsec >= 0 && until->tv_nsec < 1000000000 ? 0 : EINVAL;
}

#endif

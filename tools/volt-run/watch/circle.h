/* circle.h: threads that wait for each other. */
#ifndef WATCH_CIRCLE_H
#define WATCH_CIRCLE_H

#include <time.h>

#include "watch/wait.h"

enum { CIRCLE_MAX = 64, CIRCLE_TRY_MS = 100, CIRCLE_ROUNDS = 8 };

/* Each waits for the next one, and the last one for the first. */
struct circle {
  uint32_t count;
  uint32_t thread[CIRCLE_MAX];
  uint32_t lock[CIRCLE_MAX]; /* that it waits for; 0: it joins */
  uint32_t changes[CIRCLE_MAX];
  uint64_t ran_ns[CIRCLE_MAX]; /* in all; KERNEL_IS_AWAKE: it does now */
};

/* Find one in which this thread is. Returns false: there is none. */
bool circle_find(const struct books_thread *self, struct circle *c);

/* Called by a thread that is in a wait, after wait_begin(). If it seems to be in a circle, it waits for
 * CIRCLE_TRY_MS by `attempt`, and if nothing has moved then, it is a deadlock, which is reported.
 * attempt: waits for so long. Returns ETIMEDOUT, or what it was otherwise.
 * Returns ETIMEDOUT: the thread has to go on and wait; or what attempt() returned. */
int circle_check(struct wait *w, int (*attempt)(void *object, const struct timespec *until),
                 void *object);

#endif

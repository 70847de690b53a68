/* sleepers.h: the threads that sleep in a blocking call, with the state and the holder of what each
 * waits for. thread_seen.c says how these are read. */
#ifndef VOLT_SIGHT_DUMP_THREAD_SEEN_H
#define VOLT_SIGHT_DUMP_THREAD_SEEN_H

#include "../../core/inspect/holders.h"
#include "../../core/inspect/sleepers.h"

enum { VOLT_THREADS_SEEN_ = 16 };

typedef struct volt_thread_seen_ {
  volt_sleeper_seen_
      thread; /* description has the state and the waiters of its object, if they are known */
  volt_holder_seen_ holder; /* of its object; all-zero: not known */
} volt_thread_seen_;

/* As volt_sleepers_copy_(), VOLT_THREADS_SEEN_ at most. */
unsigned volt_threads_see_(volt_thread_seen_ seen[VOLT_THREADS_SEEN_], uint64_t *cursor);

/* Copy memory that may be gone. Returns whether there was any. */
bool volt_copy_(void *to, const void *from, size_t bytes);

#endif

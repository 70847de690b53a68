/* sleepers.h: the threads that sleep in a blocking call, with the state and the holder of what each waits for.
 * sleepers.c says how these are read. */
#ifndef VOLT_SIGHT_DUMP_SLEEPERS_H
#define VOLT_SIGHT_DUMP_SLEEPERS_H

#include "../../core/inspect/blocked.h"
#include "../../core/inspect/owner.h"

enum { VOLT_SLEEPERS_ = 16 };

typedef struct volt_sleeper_ {
  volt_blocked_ thread;   /* look has the state and the waiters of its object, if they are known */
  volt_owner_seen_ owner; /* of its object; all-zero: not known */
} volt_sleeper_;

/* As volt_blocked_see_(), VOLT_SLEEPERS_ at most. */
unsigned volt_sleepers_see_(volt_sleeper_ seen[VOLT_SLEEPERS_], uint64_t *cursor);

/* Copy memory that may be gone. Returns whether there was any. */
bool volt_copy_(void *to, const void *from, size_t bytes);

#endif

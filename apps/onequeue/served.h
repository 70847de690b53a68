/* served.h: who has got a permit, in which order.
 *
 * The permits are released one by one, and the next when the one before has been told of, so nobody
 * else writes meanwhile: the semaphore is all the synchronisation there is. */
#ifndef ONEQUEUE_SERVED_H
#define ONEQUEUE_SERVED_H

#include <volt/volt.h>

#define MOST_WAITERS 64

struct served {
  volt_sem told; /* a permit for each entry that has not been seen */
  unsigned count;
  unsigned order[MOST_WAITERS]; /* by number of arrival */
};

void served_init(struct served *served);

/* Tell that this one has got a permit. Does not wait: from anywhere. */
void served_tell(struct served *served, unsigned arrival);

/* Wait for the next one. Returns who it is. */
unsigned served_next(struct served *served);

void served_destroy(struct served *served);

#endif

/* semaphore_limit.h: what a semaphore does with its FIFO and its word when the limit changes, and
 * for a waiter that wants all permits. It stands beside core/wait/permits.h. */
#ifndef VOLT_SYNC_SEMAPHORE_LIMIT_H
#define VOLT_SYNC_SEMAPHORE_LIMIT_H

#include <volt/semaphore.h>

#include "../core/wait/permits.h"

/* Acquire as many permits as serve() computes each time *w is at the head, or queue *w. */
int volt_sem_limit_acquire_all_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w,
                                const volt_waker *waker);

/* Whether *w, which is queued on a semaphore, wants all permits: w->data is not NULL then. */
static inline bool volt_sem_limit_wants_all_(const volt_waiter *w) {
  return w->data != NULL;
}

/* Change by delta how many permits exist, and serve the waiters. Below zero, permits that are held
 * become the excess, which later releases reduce before a waiter is served. With 0, the waiters are
 * served again, because what one of them wants has changed. */
void volt_sem_limit_change_(volt_fifo_ *q, const volt_permit_kind_ *kind, int32_t delta);

/* The same as volt_sem_limit_change_() with less or more, but these serve no waiter and call no
 * waker: volt_sem_limit_change_() must follow. The caller has the limit locked.
 * lower: n permits fewer exist. reduce_excess: n permits more, but no more than the excess; returns
 * how many; aborts as bound() does. Both release what came before, also if they change nothing.
 * Both acquire, so what the caller does next comes after it. */
void volt_sem_limit_lower_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
uint32_t volt_sem_limit_reduce_excess_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);

/* How many permits must be released before there is one to take. */
uint32_t volt_sem_limit_excess_(const volt_fifo_ *q, const volt_permit_kind_ *kind);

/* Complete as many as are queued now, the oldest first, as a close would, with VOLT_ECLOSED; *q stays
 * as it is. What one of them had got is for the next; so one that queues meanwhile may be among them.
 * The caller keeps *q alive. */
void volt_sem_limit_turn_away_(volt_fifo_ *q, const volt_permit_kind_ *kind);

/* The same of a semaphore. For src/cluster, which can say why. */
VOLT_API void volt_sem_turn_away_(volt_sem *sem);

#endif

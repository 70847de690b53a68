/* semaphore_limit.h: what a semaphore's queue does when the limit changes, and for a waiter that wants
 * all permits. Beside it: core/permits.h. */
#ifndef VOLT_SYNC_SEMAPHORE_LIMIT_H
#define VOLT_SYNC_SEMAPHORE_LIMIT_H

#include "../core/permits.h"

/* Take what serve() gives to a waiter that is marked, or queue it: how much it wants is for serve()
 * to say, each time that it is the head. mark: not NULL; in w->data, which else is NULL. */
int volt_sem_limit_acquire_all_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w,
                                volt_waker waker);

static inline bool volt_sem_limit_wants_all_(const volt_waiter *w) {
  return w->data != NULL;
}

/* So many permits more, or fewer, than there were; those that are held already become debt, which
 * is repaid by what is released before anybody is served. With 0: serve() looks again. */
void volt_sem_limit_change_(volt_fifo_ *q, const volt_permit_kind_ *kind, int32_t delta);

/* The two halves of it that serve nobody, and call no waker; volt_sem_limit_change_() has to
 * follow. lower: n permits fewer. repay: n permits more, but no more than there is debt; returns
 * how many; aborts as bound() does, and what that looks at is the caller's alone. Both release what
 * came before, also if they change nothing, and acquire: what the caller does next comes after it. */
void volt_sem_limit_lower_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
uint32_t volt_sem_limit_reduce_excess_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);

/* How many have to be released before there are any. */
uint32_t volt_sem_limit_excess_(const volt_fifo_ *q, const volt_permit_kind_ *kind);

#endif

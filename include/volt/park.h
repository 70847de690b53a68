/* park.h: block a thread, or suspend a fiber, until it has been unparked a given number of times;
 * nothing more.
 *
 * A thread waits with a parker for whatever else is asynchronous. ("Thread" means a fiber here, too.)
 * The parker lives on the stack of the call that blocks; its waker goes wherever a waker can go.
 * Every operation of volt calls a waker exactly once. So the blocking call returns only when its
 * wakes have come, and no late wake can meet a parker that is gone. If the call gives up, at a
 * deadline or because its fiber is cancelled, it must cancel the operations that would still unpark
 * it, or wait for them, before the parker may go.
 *
 *   volt_parker parker = VOLT_PARKER_INIT;
 *   start_something(volt_parker_waker(&parker));
 *   volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
 *
 * A thread that unparks many others, and has something better to do first, such as to leave a
 * critical section, collects them in a volt_unpark_list. A parked thread that is still spinning
 * goes on at once; those that sleep are woken together later. */
#ifndef VOLT_PARK_H
#define VOLT_PARK_H

#include "detail/atomic.h"
#include "waker.h"

/* Members are private. word: bit 0: PARKED, a thread sleeps or is about to; bit 1: SUSPENDED, a
 * fiber does; bits 2 to 31: how many unparks have come. */
typedef struct volt_parker {
  VOLT_ATOMIC(uint32_t) word;
} volt_parker;
VOLT_SIZE_AT_MOST_(volt_parker, 4);

/* How many sleeping threads a list holds before it wakes them by itself. */
#define VOLT_UNPARK_LIST_MAX 32

/* Members are private. It has addresses only, because a parker may be gone when it is woken. */
typedef struct volt_unpark_list {
  unsigned count;
  uint32_t suspended; /* bit i: a fiber waits at asleep[i] */
  VOLT_ATOMIC(uint32_t) *asleep[VOLT_UNPARK_LIST_MAX];
} volt_unpark_list;

#ifdef __cplusplus
#define VOLT_PARKER_INIT \
  {}
#define VOLT_UNPARK_LIST_INIT \
  {}
#else
#define VOLT_PARKER_INIT \
  { 0 }
#define VOLT_UNPARK_LIST_INIT \
  { 0 }
#endif

VOLT_BEGIN_DECLS

/* Block this thread until *p has been unparked `unparks` times in all, or until deadline_ns (as
 * volt_now_ns()) has passed. Spins for a few microseconds before it sleeps; in a fiber it does not
 * spin, and a cancel of the fiber ends it, too (volt/base.h).
 * unparks: compared with a count that begins at 0 and wraps at 2^30, so a parker may be unparked
 *   without end. The two must differ by less than 2^29. To begin again at 0, set *p to
 *   VOLT_PARKER_INIT when no thread is going to unpark it.
 * Returns VOLT_OK or VOLT_ETIMEDOUT. A signal does not end it: a thread that has to stop must be
 *   unparked.
 * Threads: one at a time on one parker. Order: acquires what the unparking threads did before. */
VOLT_API int volt_park_until(volt_parker *p, uint32_t unparks, uint64_t deadline_ns);

/* Count one unpark, and wake the parked thread if it sleeps. To count is the last access to *p.
 * Threads: any; also from a signal handler if no fiber parks there. Order: releases what this
 *   thread did before. */
VOLT_API void volt_unpark(volt_parker *p);

/* Count one unpark now. If the parked thread sleeps, put it into the list, to be woken by
 * volt_unpark_all(), which the caller must call later. A full list is woken at once, and is empty
 * again. To count is the last access to *p.
 * list: the caller's own, VOLT_UNPARK_LIST_INIT at first.
 * Threads: any. Order: as volt_unpark(). */
VOLT_API void volt_unpark_later(volt_parker *p, volt_unpark_list *list);

/* Wake all threads in the list, in the order in which they were unparked, and make the list empty.
 * Threads: the owner of the list. */
VOLT_API void volt_unpark_all(volt_unpark_list *list);

/* A waker that calls volt_unpark(p). *p must outlive the wake. */
VOLT_API volt_waker volt_parker_waker(volt_parker *p);

VOLT_END_DECLS
#endif

/* park.h: block a thread until it has been unparked a given number of times; nothing more.
 *
 * A parker is what a thread waits with for whatever else is asynchronous: it lives on the stack of
 * the call that blocks, and its waker goes wherever a waker can go. Every wake that is due to it
 * comes exactly once (the rule of every operation of volt), so the call returns when it has come,
 * and no late unpark can ever meet a dead parker. After a deadline,
 * whoever is still to unpark must be called off, or waited for, before the parker may go.
 *
 *   volt_parker parker = VOLT_PARKER_INIT;
 *   start_something(volt_parker_waker(&parker));
 *   volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
 *
 * Who has many threads to unpark, and something better to do first (to leave a critical section, to
 * run the next one), collects them in a volt_unpark_list: a thread that is still looking goes on at
 * once, those that sleep are woken together later. */
#ifndef VOLT_PARK_H
#define VOLT_PARK_H

#include "detail/atomic.h"
#include "waker.h"

/* Members are private. word: bit 0 PARKED, the thread sleeps or is about to; bits 1..31:
 * unparks. */
typedef struct volt_parker {
  VOLT_ATOMIC(uint32_t) word;
} volt_parker;
VOLT_SIZE_AT_MOST_(volt_parker, 4);

/* How many sleeping threads a list holds before it wakes them by itself. */
#define VOLT_UNPARK_LIST_MAX 32

/* Members are private. Addresses only: the parkers may be gone when they are woken. */
typedef struct volt_unpark_list {
  unsigned count;
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

/* Block this thread until the count of unparks, which begins at zero, has reached unparks, or until
 * deadline_ns (as volt_now_ns()) has passed. Looks for a few microseconds before it sleeps.
 * Returns VOLT_OK or VOLT_ETIMEDOUT. Signals, and wakes for no reason, do not end it: a thread that
 *   is to stop has to be unparked.
 * unparks: modulo 2^31, as the count is, so a parker may be unparked without end. The count must be
 *   less than 2^30 ahead of unparks or behind it. A parker is made new by setting it to zero, when
 *   no thread is going to unpark it.
 * Threads: one at a time on one parker. Order: acquires what the unparking threads did before. */
VOLT_API int volt_park_until(volt_parker *p, uint32_t unparks, uint64_t deadline_ns);

/* Count one unpark, and wake the thread if it sleeps.
 * Threads: any; also from a signal handler.
 * Order: releases what this thread did before. The count is the last access to *p. */
VOLT_API void volt_unpark(volt_parker *p);

/* Count one unpark now; if the thread sleeps, wake it when the list is woken; a full list is woken
 * first. list: the caller's own, VOLT_UNPARK_LIST_INIT at first.
 * Threads: any. Order: as volt_unpark(). */
VOLT_API void volt_unpark_later(volt_parker *p, volt_unpark_list *list);

/* Wake all threads in the list, in the order of the unparks, and make it empty. Whoever has called
 * volt_unpark_later() owes this call. */
VOLT_API void volt_unpark_all(volt_unpark_list *list);

/* A waker that unparks. */
VOLT_API volt_waker volt_parker_waker(volt_parker *p);

VOLT_END_DECLS
#endif

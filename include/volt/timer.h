/* timer.h: a priority queue of timers that any thread can start and cancel, and one thread drives.
 *
 * A timer calls its waker once, when its deadline has passed and a thread has called
 * volt_timers_expire(). It lives in its owner's memory and is a node of an intrusive pairing heap.
 * The heap is only touched in batched critical sections (volt/bcs_lock.h). So starting a timer
 * waits for no thread, and a hundred threads that start and cancel take no lock.
 *
 *   volt_timers timers = VOLT_TIMERS_INIT;
 *   volt_timer_start(&timers, &t, volt_deadline_ns(5000000), waker);
 *   ... a loop, or a thread:
 *   wait_until(volt_timers_earliest_ns(&timers));
 *   volt_timers_expire(&timers, volt_now_ns());
 *
 * Start and earliest cost O(1), cancel and expire O(log n) amortized, per timer. Timers with the
 * same deadline expire in the order in which they were started. The time is the argument of
 * expire(). With a clock of one's own (a simulation, a test: volt_timers_init_virtual()) nothing
 * waits for the real one.
 *
 * The life of a timer is that of a waiter: started -> expired, its waker is called once; or
 * -> cancelled, its waker is not called. All-zero is a valid unused timer, and a valid queue
 * without a driver. */
#ifndef VOLT_TIMER_H
#define VOLT_TIMER_H

#include "bcs_lock.h"

/* Members are private. */
typedef struct volt_timer {
  volt_waiter waiter; /* outcome and waker; next, prev: siblings in the heap; data: first child */
  VOLT_PLAIN(uint64_t) deadline_ns;
  VOLT_PLAIN(uint64_t) number; /* how many were started before it */
  volt_bcs_section section;    /* that puts it into the heap */
} volt_timer;

/* Members are private. */
typedef struct volt_timers {
  volt_bcs_lock lock;
  VOLT_PLAIN(volt_waiter *) root;    /* the heap: the waiter of the earliest timer */
  VOLT_PLAIN(uint64_t) started;      /* timers so far */
  VOLT_ATOMIC(uint64_t) virtual_ns;  /* the latest time given to expire() */
  bool is_virtual;                   /* the time is virtual_ns */
  VOLT_PLAIN(uint32_t) late;         /* owners that are to come, of timers that have expired */
  VOLT_ATOMIC(uint64_t) earliest_ns; /* the earliest deadline, XOR VOLT_NO_DEADLINE */
  VOLT_ATOMIC(uint32_t) calling;     /* whether a call of the driver is to come; and how many run */
  VOLT_PLAIN(volt_wake_fn) driver_wake;
  VOLT_PLAIN(void *) driver_ctx;
  volt_bcs_section call; /* that calls the driver */
} volt_timers;

#ifdef __cplusplus
#define VOLT_TIMER_INIT \
  {}
#define VOLT_TIMERS_INIT \
  {}
#else
#define VOLT_TIMER_INIT \
  { 0 }
#define VOLT_TIMERS_INIT \
  { 0 }
#endif

VOLT_BEGIN_DECLS

/* Make *t empty.
 * driver: called each time that the earliest deadline has become earlier, so that a thread that
 *   sleeps until then sleeps less long. It is called with nothing held, on the thread that starts a
 *   timer or on another that uses the queue. Calls may be merged: what counts is
 *   volt_timers_earliest_ns() after the last. May be a zero waker.
 * Threads: one, while no other uses the queue. */
VOLT_API void volt_timers_init(volt_timers *t, volt_waker driver);

/* The same, with a virtual clock. It stands at 0, and then at the latest time given to expire(). */
VOLT_API void volt_timers_init_virtual(volt_timers *t, volt_waker driver);

/* End its life. No timer may be started then (aborts). Waits until each call of the driver that is due
 * has returned. So it must not be called from a waker. Frees nothing.
 * Threads: one, while no other uses the queue. */
VOLT_API void volt_timers_destroy(volt_timers *t);

/* Start *timer. Waits for no thread. May run sections of other threads on the same queue, which are
 * short, and call the driver.
 * timer: the caller's memory, unused, expired or cancelled; must stay where it is until it is
 *   expired or cancelled. deadline_ns: a time of the clock that expire() is called with, as
 *   volt_now_ns(); VOLT_NO_DEADLINE never comes. A deadline in the past expires at the next
 *   volt_timers_expire().
 * Wakes: waker, exactly once, on the thread that expires it, with nothing held; not if cancelled.
 * Threads: any. Order: releases to the waker what this thread did. */
VOLT_API void volt_timer_start(volt_timers *t, volt_timer *timer, uint64_t deadline_ns,
                               volt_waker waker);

/* Expire every timer whose deadline is at or before now_ns, earliest first, in batches; call the
 * wakers of each batch after it. A timer that a waker starts for a time that has passed is
 * included: a waker that always does so keeps expire() from returning.
 * Returns how many timers have expired.
 * Wakes: their wakers, on this thread, with nothing held.
 * Threads: any, also several at once. Order: a waker acquires what the thread that started its
 *   timer did before. */
VOLT_API size_t volt_timers_expire(volt_timers *t, uint64_t now_ns);

/* Stop *timer. Waits for sections of other threads on the same queue, if there are any; each is
 * short.
 * t: the queue that *timer was started on; aborts if it is another, and the timer runs.
 * Returns true: cancelled, or not started; its waker will not be called. Returns false: it has
 *   expired, and its waker has been called or will be. In both cases its memory is the caller's.
 * Threads: the owner of *timer. */
VOLT_API bool volt_timer_cancel(volt_timers *t, volt_timer *timer);

/* Replace the waker of a timer that runs. Waits as volt_timer_cancel() does.
 * t: the queue that *timer was started on; aborts if it is another, and the timer runs.
 * Returns true: replaced, the old waker will not be called. Returns false: *timer has expired, and
 *   the old waker has been called or will be; or it does not run.
 * Threads: the owner of *timer. */
VOLT_API VOLT_NODISCARD bool volt_timer_set_waker(volt_timers *t, volt_timer *timer,
                                                  volt_waker waker);

/* The earliest deadline, or VOLT_NO_DEADLINE if there is none. Exact in the driver; elsewhere a
 * snapshot.
 * Threads: any. */
VOLT_API uint64_t volt_timers_earliest_ns(volt_timers *t);

/* What time it is by the clock of *t: volt_now_ns(), or, if the clock is virtual, the latest time
 * that was given to expire().
 * Threads: any. */
VOLT_API uint64_t volt_timers_now_ns(volt_timers *t);

/* What has become of *timer.
 * Returns VOLT_PENDING while it runs, VOLT_OK once it has expired, VOLT_ECANCELED if it was
 *   cancelled or never started.
 * Threads: the owner of *timer. Order: VOLT_OK acquires what the expiring thread did before. */
VOLT_API int volt_timer_result(volt_timer *timer);

VOLT_END_DECLS
#endif

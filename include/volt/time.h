/* time.h: futures of time: a sleep, a deadline for any other future, a tick that comes again.
 *
 *   VOLT_AWAIT(self, volt_sleep_future(&self->nap, timers, volt_deadline_ns(5000000)));
 *
 * They run on a volt_timers (volt/timer.h), which a runtime drives (volt_rt_timers()), or a loop of
 * one's own, or a test with a virtual clock. Nothing is allocated: a pending sleep costs its
 * struct. A deadline is an absolute time by that clock (volt_timers_now_ns()). */
#ifndef VOLT_TIME_H
#define VOLT_TIME_H

#include "future.h"
#include "timer.h"

/* Members are private. */
typedef struct volt_sleep_op {
  volt_future future;
  volt_timer timer;
  uint64_t deadline_ns;
} volt_sleep_op;

/* Members are private. */
typedef struct volt_timeout {
  volt_future future;
  volt_future *inner;
  int result; /* the result with which it is being ended, or VOLT_PENDING */
  volt_sleep_op sleep;
} volt_timeout;

/* What an interval does about ticks that were missed, because they were not awaited in time. */
enum volt_interval_missed {
  VOLT_INTERVAL_BURST = 0, /* all of them at once: as many ticks as there were periods */
  VOLT_INTERVAL_SKIP = 1,  /* the next one is in step with the first: a multiple of the period */
  VOLT_INTERVAL_DELAY = 2  /* the next one is a whole period after the late one */
};

/* Members are private. */
typedef struct volt_interval {
  volt_future future;
  volt_sleep_op sleep;
  volt_timers *timers;
  uint64_t next_ns;
  uint64_t period_ns;
  uint32_t missed;
  uint64_t ticked_ns;
  uint64_t ticked_before_ns;
} volt_interval;

VOLT_BEGIN_DECLS

/* A future that is ready at deadline_ns. VOLT_NO_DEADLINE: never.
 * s: the caller's memory, not pending; its content is overwritten.
 * Returns &s->future: polls as VOLT_OK; at once, and without a timer, if the time has come.
 * Wakes: the poller, on the thread that drives the timers.
 * Cancel: volt_future_cancel(); O(log n) amortized in the number of pending timers.
 * Threads: the future's owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_sleep_future(volt_sleep_op *s, volt_timers *timers,
                                                       uint64_t deadline_ns);

/* A future that is ready when inner is, or at deadline_ns. At deadline_ns inner is cancelled: a
 * grant that came at the same moment is given back. Each poll polls inner first, so an inner that
 * is ready never times out; a deadline that has passed still polls inner once.
 * t: the caller's memory; its content is overwritten. inner: the caller's, until *t is ready or
 *   cancelled. If inner must come to its end first, like a branch that loses a select
 *   (volt/select.h), that is awaited: a timeout of a call on the blocking pool is not ready before
 *   the call has returned.
 * Returns &t->future: polls as inner, or VOLT_ETIMEDOUT.
 * Cancel: volt_future_cancel(); inner is cancelled, too.
 * Threads: the owner of *t and of inner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_timeout_future(volt_timeout *t, volt_future *inner,
                                                         volt_timers *timers, uint64_t deadline_ns);

/* Make *i tick at start_ns and then each period_ns.
 * i: the caller's memory, not pending; its content is overwritten. period_ns: above 0 (aborts).
 *   missed: see above. An interval may be freed at any time when its tick is not pending: cancel
 *   the tick if it is.
 * Threads: the owner of *i. */
VOLT_API void volt_interval_init(volt_interval *i, volt_timers *timers, uint64_t start_ns,
                                 uint64_t period_ns, enum volt_interval_missed missed);

/* A future of the next tick. One at a time: aborts if the last one is pending.
 * Returns &i->future: polls as VOLT_OK.
 * Wakes: the poller, on the thread that drives the timers.
 * Cancel: volt_future_cancel(); the tick is not used up.
 * Threads: the owner of *i, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_interval_tick_future(volt_interval *i);

/* The time for which the last tick was due.
 * Threads: the owner of *i. */
VOLT_API uint64_t volt_interval_due_ns(const volt_interval *i);

VOLT_END_DECLS
#endif

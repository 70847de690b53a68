/* blocking.c: threads for calls that block.
 *
 * Algorithm: calls queue under a lock. For each, an idle thread is unparked, or a new one started,
 * up to the bound. A thread that has been idle for long enough ends.
 *
 * Invariants, under the lock
 *   I1  a call is queued (in the list), running (on one thread), or done
 *   I2  while a call is queued, no thread is idle, or one was unparked for it and has yet to look
 *   I3  an idle thread is in the list of idle threads, or the thread that took it out unparks it
 *       once
 *
 * Races
 *   R1  Interleaving: an idle thread's time is up as it is being unparked. Prevented by: it ends
 *       only if it finds itself in the list; else it waits for the unpark.
 *   R2  Interleaving: a call is cancelled as a thread takes it. Prevented by: its stage, under the
 *       lock.
 *   R3  Interleaving: the runtime is freed, or the library unloaded, while a thread is ending.
 *       Prevented by: each thread that ends joins the one that has ended before it, and
 *       volt_rt_destroy() joins the last. Then all have ended. Meanwhile at most one that has ended
 *       keeps its stack, unjoined.
 *   R4  Interleaving: a call is queued while a thread is being started, and relies on it; that
 *       start fails. Prevented by: the thread whose start has failed completes all calls that are
 *       queued, if no thread is left.
 *   R5  Interleaving: a thread that runs by hand sleeps until no call is queued or runs, so that
 *       virtual time may pass; the last call is given up, or refused, and never runs. Prevented by:
 *       each place where there is one call less, under the lock, rouses that thread if it was the
 *       last (by_hand.c R2).
 *   R6  Interleaving: a thread sees that its call is not done, and is about to take the lock, to cancel
 *       it or to replace its waker; the call returns, the last thread leaves, and the runtime, which
 *       was given up, is freed. Prevented by: as in timer.c R6. The owner makes its waiter HELD before
 *       it takes the lock. The thread that has made the call makes it CLAIMED, or finds that it is
 *       HELD, and counts the owner as late; the pool is closed when no owner is late. */
#include "blocking.h"
#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "../../core/park/spin.h"
#include "../../core/wait/grant.h"
#include "../host/runtime.h"
#include "../sched/parking.h"

enum { QUEUED = 1, RUNNING = 2, DONE = 3, REMOVED = 4 };

static const char blocking_name[] = "volt_blocking";

bool volt_blocking_is_here_(volt_rt *rt) {
  return volt_thread_here_()->served == rt;
}

typedef struct volt_blocking_thread {
  volt_parker parker;
  struct volt_blocking_thread *next;
} blocking_thread;

void volt_blocking_pool_init_(volt_blocking_pool *pool) {
  volt_short_lock_init_(&pool->lock);
  pool->head = NULL;
  pool->tail = NULL;
  pool->queued = 0;
  pool->running = 0;
  pool->threads = 0;
  pool->idle_count = 0;
  pool->idle = NULL;
  pool->is_closed = 0;
  pool->closer = NULL;
  pool->late = 0;
  pool->any_left = 0;
  pool->left = volt_thread_self_();        /* any value */
  volt_store_relaxed(&pool->last_name, 0); /* not shared yet */
}

/* ---- the queue, under the lock ---- */

static void blocking_append(volt_blocking_pool *pool, volt_blocking *b) {
  b->next = NULL;
  b->prev = pool->tail;
  if (pool->tail) {
    pool->tail->next = b;
  } else {
    pool->head = b;
  }
  pool->tail = b;
  pool->queued += 1;
  b->stage = QUEUED;
}

static void blocking_unlink(volt_blocking_pool *pool, volt_blocking *b, uint32_t stage) {
  if (b->prev) {
    b->prev->next = b->next;
  } else {
    pool->head = b->next;
  }
  if (b->next) {
    b->next->prev = b->prev;
  } else {
    pool->tail = b->prev;
  }
  pool->queued -= 1;
  b->stage = stage;
}

static bool blocking_is_busy(volt_blocking_pool *pool) {
  return pool->queued + pool->running > 0;
}

static blocking_thread *blocking_take_idle(volt_blocking_pool *pool) {
  blocking_thread *thread = pool->idle;
  if (thread) {
    pool->idle = thread->next;
    pool->idle_count -= 1;
  }
  return thread;
}

/* Returns whether thread was idle. */
static bool blocking_remove_idle(volt_blocking_pool *pool, blocking_thread *thread) {
  blocking_thread *before = NULL;
  for (blocking_thread *at = pool->idle; at; before = at, at = at->next) {
    if (at != thread) continue;
    if (before) {
      before->next = at->next;
    } else {
      pool->idle = at->next;
    }
    pool->idle_count -= 1;
    return true;
  }
  return false;
}

/* ---- its owner ---- */

/* The owner of b is about to use the pool. Returns false: it must not, because b is done. R6 */
static bool blocking_hold(volt_blocking *b) {
  uint32_t state = VOLT_WAITER_PENDING_;
  /* relaxed, no data: only HELD itself counts, the lock has its own order */
  return volt_cas_relaxed(&b->future.waiter.state, &state, VOLT_WAITER_HELD_);
}

/* Whether it was removed: then it is HELD until its owner has cancelled it. The owner, without the lock. */
static bool blocking_was_removed(volt_blocking *b) {
  return volt_load_relaxed(&b->future.waiter.state) == VOLT_WAITER_HELD_; /* the owner's own */
}

/* Under the lock: the owner of b, which is not removed, has come. Returns whether b is done. */
static bool blocking_let_go(volt_blocking_pool *pool, volt_blocking *b) {
  bool is_done = b->stage == DONE;
  uint32_t held = VOLT_WAITER_HELD_;
  if (is_done) pool->late -= 1;
  /* relaxed, no data: as HELD. It does not overwrite a grant */
  (void)volt_cas_relaxed(&b->future.waiter.state, &held,
                         is_done ? VOLT_WAITER_CLAIMED_ : VOLT_WAITER_PENDING_);
  return is_done;
}

/* Under the lock: b is done. */
static volt_claimed_ blocking_claim(volt_blocking_pool *pool, volt_blocking *b, int result) {
  uint32_t state = VOLT_WAITER_PENDING_;
  b->result = result;
  b->stage = DONE;
  /* relaxed, no data: as above; R6. AWAITED stays: its owner does not use the pool */
  bool is_claimed = volt_cas_relaxed(&b->future.waiter.state, &state, VOLT_WAITER_CLAIMED_);
  if (!is_claimed && state == VOLT_WAITER_HELD_) pool->late += 1;
  return volt_waiter_claim_(&b->future.waiter);
}

/* ---- a thread ---- */

static void blocking_call(volt_rt *rt, volt_blocking *b) {
  VOLT_PROBE3(blocking__begin, rt, b, b->fn);
  int result = b->fn(b->arg);
  VOLT_PROBE3(blocking__end, rt, b, result);
  VOLT_CHECK(result != VOLT_PENDING, blocking_name, "VOLT_PENDING is not a result");
  volt_short_lock_lock_(&rt->blocking.lock);
  volt_claimed_ claimed = blocking_claim(&rt->blocking, b, result);
  volt_short_lock_unlock_(&rt->blocking.lock);
  volt_count_from_outside_(VOLT_KIND_BLOCKING_, VOLT_COUNTER_GRANTS_, 1);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

/* The lock is held; once it is free, the runtime may be gone. One call less is queued or runs.
 * R5 */
static void blocking_rouse_if_last(volt_rt *rt) {
  bool is_virtual = rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
  if (is_virtual && !blocking_is_busy(&rt->blocking))
    volt_rt_rouse_(rt); /* its time may pass now */
}

/* The owner of a call has been woken. The lock is held afterwards. */
static void blocking_count_call_off(volt_rt *rt) {
  volt_short_lock_lock_(&rt->blocking.lock);
  rt->blocking.running -= 1;
  blocking_rouse_if_last(rt);
}

/* The lock is held, and free during the wait. Returns false: this thread must end. */
static bool blocking_wait_for_more(volt_rt *rt) {
  volt_blocking_pool *pool = &rt->blocking;
  blocking_thread self = {.parker = VOLT_PARKER_INIT, .next = pool->idle};
  pool->idle = &self;
  pool->idle_count += 1;
  volt_short_lock_unlock_(&pool->lock);
  uint64_t deadline_ns = volt_deadline_ns(rt->config.blocking_idle_ns);
  bool timed_out = volt_park_spin_(VOLT_KIND_WORKER_, &self.parker, 1, deadline_ns, VOLT_PARK_SPIN,
                                   0) == VOLT_ETIMEDOUT;
  volt_short_lock_lock_(&pool->lock);
  if (!timed_out) return true;
  if (blocking_remove_idle(pool, &self)) return false; /* R1 */
  volt_short_lock_unlock_(&pool->lock);
  volt_park_out_(&self.parker, 1);
  volt_short_lock_lock_(&pool->lock);
  return true;
}

/* The lock is held, and this unlocks: one thread less. */
static void blocking_count_off(volt_blocking_pool *pool) {
  pool->threads -= 1;
  volt_parker *closer = pool->threads == 0 ? (volt_parker *)pool->closer : NULL;
  volt_short_lock_unlock_(&pool->lock);
  if (closer) volt_unpark(closer);
}

/* The lock is held, and this unlocks. The thread takes no more calls, and joins the one that has
 * ended before it. The runtime exists until this thread has ended. R3 */
static void blocking_thread_leave(volt_blocking_pool *pool, volt_rt_thread *self) {
  bool any = pool->any_left != 0;
  volt_thread_ before = pool->left;
  pool->any_left = 1;
  pool->left = volt_thread_self_();
  blocking_count_off(pool);
  volt_rt_thread_ends_(self);
  if (any) volt_thread_join_(before);
}

static void *blocking_thread_main(void *arg) {
  volt_rt *rt = (volt_rt *)arg;
  volt_blocking_pool *pool = &rt->blocking;
  volt_rt_thread self;
  volt_thread_block_signals_(&rt->signals);
  volt_thread_here_()->served = rt;
  volt_rt_thread_begins_(&self, rt, 'b', volt_fetch_add_relaxed(&pool->last_name, 1));
  volt_short_lock_lock_(&pool->lock);
  for (;;) {
    volt_blocking *b = pool->head;
    if (b) {
      blocking_unlink(pool, b, RUNNING);
      pool->running += 1;
      volt_short_lock_unlock_(&pool->lock);
      blocking_call(rt, b);
      blocking_count_call_off(rt);
    } else if (pool->is_closed || !blocking_wait_for_more(rt)) {
      break;
    }
  }
  blocking_thread_leave(pool, &self);
  return NULL;
}

/* ---- submit ---- */

/* b was taken out of the queue, and is not woken yet; no lock is held. */
static void blocking_not_run(volt_blocking *b) {
  if (b->unrun) b->unrun(b->arg);
}

/* The lock is held, and free meanwhile: complete the oldest call that is queued, for which there is
 * no thread. */
static void blocking_refuse_oldest(volt_blocking_pool *pool) {
  volt_blocking *b = pool->head;
  blocking_unlink(pool, b, DONE);
  pool->running += 1; /* until its owner has been woken */
  volt_claimed_ claimed = blocking_claim(pool, b, VOLT_ENOMEM);
  volt_short_lock_unlock_(&pool->lock);
  blocking_not_run(b);
  volt_count_from_outside_(VOLT_KIND_BLOCKING_, VOLT_COUNTER_GRANTS_, 1);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
  volt_short_lock_lock_(&pool->lock);
  pool->running -= 1;
}

/* No thread could be started for b. Returns what becomes of b. R4 */
static int blocking_start_failed(volt_rt *rt, volt_blocking *b) {
  volt_blocking_pool *pool = &rt->blocking;
  volt_short_lock_lock_(&pool->lock);
  bool hopeless = pool->threads == 1 && b->stage == QUEUED;
  if (hopeless) blocking_unlink(pool, b, REMOVED);
  while (pool->threads == 1 && pool->head) blocking_refuse_oldest(pool);
  blocking_rouse_if_last(rt);
  blocking_count_off(pool);
  return hopeless ? VOLT_ENOMEM : VOLT_PENDING;
}

static volt_blocking *blocking_of(volt_future *f) {
  return volt_container_of(f, volt_blocking, future);
}

int volt_blocking_start_(volt_future *f, volt_waker waker) {
  volt_blocking *b = blocking_of(f);
  volt_blocking_pool *pool = &b->rt->blocking;
  volt_waiter_arm_(&f->waiter, b, waker);
  VOLT_PROBE_ARMED(wait__begin, &f->waiter);
  volt_short_lock_lock_(&pool->lock);
  bool is_closed = pool->is_closed != 0;
  blocking_thread *idle = NULL;
  bool more = false;
  if (!is_closed) {
    blocking_append(pool, b);
    idle = blocking_take_idle(pool);
    more = !idle && pool->threads < b->rt->config.blocking_max;
    if (more) pool->threads += 1;
  }
  volt_short_lock_unlock_(&pool->lock); /* b may be done from here on */
  int result = is_closed ? VOLT_ECLOSED : VOLT_PENDING;
  if (!is_closed) volt_count_from_outside_(VOLT_KIND_BLOCKING_, VOLT_COUNTER_WAITS_, 1);
  if (idle) volt_unpark(&idle->parker);
  volt_thread_ thread; /* not used: a thread says its own name as it ends */
  if (more && !volt_thread_start_(&thread, blocking_thread_main, b->rt))
    result = blocking_start_failed(b->rt, b);
  if (result != VOLT_PENDING) {
    blocking_not_run(b);
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  }
  return result;
}

/* ---- give up ---- */

/* R2 */
bool volt_blocking_remove_(volt_blocking *b) {
  volt_blocking_pool *pool = &b->rt->blocking;
  if (blocking_was_removed(b)) return true;
  if (!blocking_hold(b)) return false;
  volt_short_lock_lock_(&pool->lock);
  bool queued = b->stage == QUEUED;
  if (queued) {
    blocking_unlink(pool, b, REMOVED);
    blocking_rouse_if_last(b->rt);
  } else {
    (void)blocking_let_go(pool, b);
  }
  volt_short_lock_unlock_(&pool->lock); /* R6 */
  if (queued) blocking_not_run(b);
  return queued;
}

bool volt_blocking_cancel_(volt_future *f) {
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  if (volt_blocking_remove_(blocking_of(f))) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
    volt_count_from_outside_(VOLT_KIND_BLOCKING_, VOLT_COUNTER_CANCELS_, 1);
    VOLT_PROBE_ARMED(cancel, &f->waiter);
    return true;
  }
  volt_future_await_end_(f);
  return false;
}

bool volt_blocking_set_waker_(volt_future *f, volt_waker waker) {
  volt_blocking *b = blocking_of(f);
  volt_blocking_pool *pool = &b->rt->blocking;
  bool is_waiting = false;
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  if (blocking_hold(b)) {
    volt_short_lock_lock_(&pool->lock);
    is_waiting = !blocking_let_go(pool, b);
    if (is_waiting) {
      f->waiter.wake = waker.wake;
      f->waiter.ctx = waker.ctx;
    }
    volt_short_lock_unlock_(&pool->lock); /* R6 */
  }
  if (!is_waiting) volt_waiter_await_(&f->waiter);
  return is_waiting;
}

static void blocking_give_back(volt_future *f) {
  (void)f; /* what fn did cannot be undone */
}

int volt_blocking_outcome_(volt_future *f) {
  return blocking_of(f)->result;
}

static int blocking_poll(volt_future *f, volt_ctx *ctx) {
  bool asked = ctx->cancel != VOLT_CTX_GO_ON;
  bool waiting = volt_future_is_waiting_(f);
  if (asked &&
      (!waiting || ctx->cancel == VOLT_CTX_CANCEL_ALL || volt_blocking_remove_(blocking_of(f)))) {
    volt_future_cancel(f);
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }
  return volt_future_poll_leaf_(f, ctx);
}

static void blocking_describe(volt_future *f, volt_description_ *description) {
  description->object =
      (const void *)(uintptr_t)blocking_of(f)->fn; /* stage is the pool's: not read */
}

static const volt_future_ops_ blocking_ops = {.operation = "volt_blocking",
                                              .kind = VOLT_KIND_BLOCKING_,

                                              .start = volt_blocking_start_,
                                              .cancel = volt_blocking_cancel_,
                                              .set_waker = volt_blocking_set_waker_,
                                              .give_back = blocking_give_back,
                                              .outcome = volt_blocking_outcome_,
                                              .poll_ctx = volt_future_poll_any_,
                                              .poll = blocking_poll,
                                              .describe = blocking_describe,
                                              .ends_itself = true};

void volt_blocking_make_(volt_blocking *b, volt_rt *rt, int (*fn)(void *arg),
                         void (*unrun)(void *arg), void *arg) {
  b->rt = rt;
  b->fn = fn;
  b->unrun = unrun;
  b->arg = arg;
  b->stage = 0;
  b->result = VOLT_PENDING;
}

volt_future *volt_blocking_future(volt_blocking *b, volt_rt *rt, int (*fn)(void *arg), void *arg) {
  volt_blocking_make_(b, rt, fn, NULL, arg);
  return volt_future_make_(&b->future, &blocking_ops, rt, 0);
}

/* ---- the end ---- */

bool volt_blocking_pool_is_busy_(volt_blocking_pool *pool) {
  volt_short_lock_lock_(&pool->lock);
  bool busy = blocking_is_busy(pool);
  volt_short_lock_unlock_(&pool->lock);
  return busy;
}

void volt_blocking_pool_close_(volt_blocking_pool *pool) {
  volt_parker parker = VOLT_PARKER_INIT;
  volt_short_lock_lock_(&pool->lock);
  pool->is_closed = 1;
  bool any = pool->threads > 0;
  if (any) pool->closer = &parker;
  blocking_thread *idle;
  while ((idle = blocking_take_idle(pool)) != NULL) volt_unpark(&idle->parker);
  volt_short_lock_unlock_(&pool->lock);
  if (any) volt_park_out_(&parker, 1);
  unsigned spins = 0;
  volt_short_lock_lock_(&pool->lock); /* the last thread may be in it still */
  while (pool->late > 0) {            /* R6 */
    volt_short_lock_unlock_(&pool->lock);
    volt_pause_(&spins);
    volt_short_lock_lock_(&pool->lock);
  }
  any = pool->any_left != 0;
  volt_thread_ last = pool->left;
  volt_short_lock_unlock_(&pool->lock);
  if (any) volt_thread_join_(last); /* R3 */
}

/* cond.c: a FIFO of waiters for a signal, and their way to the FIFO of the mutex.
 *
 * Algorithm: a waiter is queued here with the mutex held, armed as one that wants the mutex. A
 * signal takes it out under the lock of this FIFO, and appends it to the FIFO of the mutex under
 * that one's lock. From then on it is a waiter of the mutex like any other, and an unlock grants
 * it. If the mutex is free, the signal itself grants it. A broadcast does that with the whole FIFO:
 * a step for each waiter under the lock of this FIFO, and one step for all under that of the mutex.
 * The locks are taken in this order only: here, then the mutex.
 *
 * Invariants, whenever the locks are free
 *   I1  QUEUED <=> the FIFO is not empty
 *   I2  w->queue says where a pending waiter is: linked here, or at the mutex. It changes once, to
 *       the mutex, under the lock of this FIFO.
 *   I3  a waiter that is linked here wants the mutex that c->mutex says
 *   I4  a signal ends in a grant of the mutex, or finds no waiter
 *
 * Races
 *   R1  Interleaving: the waiter has unlocked the mutex and is not queued yet when the signal
 *       comes. Prevented by: it is queued first. A signal that reads the word without the lock sees
 *       QUEUED, because its thread changed the condition with the mutex held, after this waiter had
 *       it.
 *   R2  Interleaving: a signal moves the waiter before the wait has unlocked the mutex, and the
 *       wait writes to a waiter of the mutex. Prevented by: the wait does not touch *w after it has
 *       unlocked this FIFO. At the mutex, the waiter waits for this very unlock.
 *   R3  Interleaving: a cancel meets a signal. Prevented by: the lock says where the waiter is. If
 *       it is here, the cancel takes it out, and no signal has seen it. If it is at the mutex, the
 *       mutex's cancel decides, and the signal is passed on. A broadcast is not passed on, because
 *       all waiters have got it.
 *   R4  Interleaving: a waker is replaced while a signal moves the waiter. Prevented by: as in R3.
 *   R5  Interleaving: the thread that gets the mutex ends the life of *c, and the signal still uses
 *       *c. Prevented by: the lock of this FIFO is released while that of the mutex is held, before
 *       the waiter can be granted.
 *   R6  Interleaving: a deadline passes while the waiter is already at the mutex. Prevented by: as
 *       in R7. The waiter stays there, because its thread must lock the mutex in any case.
 *   R7  Interleaving: a broadcast moves a timed waiter to the mutex; the caller of the broadcast
 *       ends and frees *c, which POSIX allows; the deadline passes, and the waiter's thread reads
 *       in *c whether it is still linked. Prevented by: the waiter's own state decides, by one
 *       compare-and-swap on each side. The thread changes TIMED into LEAVING before it touches *c
 *       again. A signal changes TIMED into PENDING before it moves the waiter. A signal does not
 *       move a waiter that is LEAVING, so *c has a waiter linked, and destroy() waits. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/cond.h>

#include "../core/future/future_ops.h"
#include "../core/hooks/wait_times.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/blocker.h"
#include "../core/park/call.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"
#include "mutex_move.h"

/* w->data of a waiter says which condition variable it waits on, and whether a broadcast has moved
 * it: it is the address of one of two members. */
static void *cond_mark_alone(volt_cond *c) {
  return &c->queue;
}

static void *cond_mark_broadcast(volt_cond *c) {
  return &c->mutex;
}

static bool cond_is_mine(volt_cond *c, const volt_waiter *w) {
  return w->data == cond_mark_alone(c) || w->data == cond_mark_broadcast(c);
}

static const volt_future_ops_ *cond_future_ops(void);

/* The lock is held. Whether *w is linked here (I2). */
static bool cond_is_here(const volt_cond *c, const volt_waiter *w) {
  return w->queue == &c->queue;
}

void volt_cond_init(volt_cond *c) {
  volt_fifo_init_(&c->queue, 0);
  c->mutex = NULL;
}

/* The lock is held. Whether each linked waiter is about to be unlinked by its own thread. */
static bool cond_all_are_leaving(const volt_cond *c) {
  for (volt_waiter *w = c->queue.head; w; w = w->next) {
    if (volt_load_relaxed(&w->state) != VOLT_WAITER_LEAVING_) return false; /* R7 */
  }
  return true;
}

void volt_cond_destroy(volt_cond *c) {
  volt_unname_at_end_(c);
  uint64_t word;
  for (unsigned spins = 0; volt_fifo_lock_if_queued_(&c->queue, &word); volt_pause_(&spins)) {
    bool is_used = !cond_all_are_leaving(c);
    volt_fifo_unlock_(&c->queue, word);
    if (is_used) break; /* misuse: the next call aborts */
  }
  volt_monitor_destroy_(&c->queue, VOLT_KIND_COND_);
}

/* ---- wait ---- */

/* state: PENDING, or TIMED (R7). */
static void cond_wait(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker,
                      uint32_t state) {
  volt_waiter_check_unused_(VOLT_KIND_COND_, w);
  VOLT_CHECK(volt_mutex_is_locked(m), volt_kind_api_(VOLT_KIND_COND_),
             "%p: wait with mutex %p, which is not locked", (void *)c, (void *)m);
  uint64_t word;
  volt_fifo_lock_(&c->queue, &word);
  VOLT_CHECK(!c->queue.head || c->mutex == m, volt_kind_api_(VOLT_KIND_COND_),
             "%p: wait with mutex %p, while others wait with mutex %p", (void *)c, (void *)m,
             (void *)c->mutex);
  c->mutex = m; /* I3 */
  w->data = cond_mark_alone(c);
  volt_fifo_append_(&c->queue, w, 1, 1, waker);
  volt_count_wait_(VOLT_KIND_COND_);
  volt_store_relaxed(&w->state, state); /* published by the unlock */
  volt_fifo_unlock_(&c->queue, word);   /* R1: from here on a signal finds it */
  volt_mutex_unlock(m);                 /* R2 */
}

int volt_cond_wait_waiter(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker) {
  cond_wait(c, m, w, waker, VOLT_WAITER_PENDING_);
  return VOLT_PENDING;
}

/* Unlink *w if it still waits for a signal. Returns whether it did. */
static bool cond_withdraw(volt_cond *c, volt_waiter *w) {
  uint64_t word;
  volt_fifo_lock_(&c->queue, &word);
  VOLT_CHECK(cond_is_mine(c, w), volt_kind_api_(VOLT_KIND_COND_),
             "%p: waiter %p waits for something else", (void *)c, (void *)w);
  bool here = cond_is_here(c, w); /* R3 */
  if (here) volt_fifo_withdraw_(&c->queue, w);
  volt_fifo_unlock_(&c->queue, word);
  if (here) volt_count_cancel_(VOLT_KIND_COND_);
  return here;
}

/* The mutex to which *w has been moved. */
static volt_mutex *cond_mutex_of(volt_waiter *w) {
  return volt_container_of((volt_fifo_ *)(void *)w->queue, volt_mutex, queue);
}

/* *w got a signal or a broadcast, and has no use for it. */
static void cond_pass_on(volt_cond *c, const volt_waiter *w) {
  if (w->data == cond_mark_alone(c)) volt_cond_signal(c);
}

bool volt_cond_cancel(volt_cond *c, volt_waiter *w) {
  int result = volt_waiter_result(w);
  if (result != VOLT_PENDING) return result == VOLT_ECANCELED;
  if (cond_withdraw(c, w)) return true;
  if (!volt_mutex_cancel(cond_mutex_of(w), w)) return false;
  cond_pass_on(c, w); /* R3 */
  return true;
}

bool volt_cond_set_waker(volt_cond *c, volt_waiter *w, volt_waker waker) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  uint64_t word;
  volt_fifo_lock_(&c->queue, &word);
  bool here = cond_is_here(c, w); /* R4 */
  if (here) volt_waiter_put_waker_(w, waker);
  volt_fifo_unlock_(&c->queue, word);
  return here || volt_fifo_set_waker_(&cond_mutex_of(w)->queue, VOLT_KIND_MUTEX_, w, waker);
}

/* Change the state of a timed waiter to next. Returns false: the other side was first. */
static bool cond_decide(volt_waiter *w, uint32_t next) {
  uint32_t seen = VOLT_WAITER_TIMED_;
  /* R7. relaxed, by fifo:L1: the value alone decides; all else is read under the lock */
  return volt_cas_relaxed(&w->state, &seen, next);
}

/* This party has got the mutex by the grant that follows a signal. */
static void cond_took(volt_waiter *w) {
#if VOLT_SIGHT
  volt_mutex *m = cond_mutex_of(w);
  volt_holder_took_(&m->holder, m, 1);
#else
  (void)w;
#endif
}

extern inline int volt_cond_wait(volt_cond *, volt_mutex *);

int volt_cond_wait_until(volt_cond *c, volt_mutex *m, uint64_t deadline_ns) {
  volt_check_blocks_("volt_cond_wait_until", deadline_ns);
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  /* a fiber may be cancelled, which is as if its deadline had passed */
  bool is_timed = deadline_ns != VOLT_NO_DEADLINE || volt_fiber_blocker_();
  cond_wait(c, m, &w, volt_parker_waker(&parker),
            is_timed ? VOLT_WAITER_TIMED_ : VOLT_WAITER_PENDING_);
  const volt_call_ call = {.name = "volt_cond_wait_until",
                           .kind = VOLT_KIND_COND_,
                           .ops = cond_future_ops(),
                           .object = c,
                           .waiter = &w};
  uint64_t since_ns = volt_wait_times_start_();
  int result = volt_park_in_(&call, &parker, 1, deadline_ns);
  volt_wait_times_stop_(VOLT_KIND_COND_, c, since_ns);
  if (result == VOLT_OK) {
    cond_took(&w);
    return VOLT_OK;
  }
  if (!cond_decide(&w, VOLT_WAITER_LEAVING_)) { /* R6, R7: *c may be gone */
    volt_park_out_(&parker, 1);
    volt_keep_cancel_(result);
    cond_took(&w);
    return VOLT_OK;
  }
  (void)cond_withdraw(c, &w); /* R7: still linked, because no signal moves it */
  if (result == VOLT_ETIMEDOUT) volt_count_(VOLT_KIND_COND_, VOLT_COUNTER_TIMEOUTS_);
  volt_mutex_lock(m);
  return result;
}

/* ---- signal ---- */

/* The lock is held. Whether *w is to be moved to the mutex; if so, no timeout will unlink it. */
static bool cond_take(volt_waiter *w) {
  uint32_t state = volt_load_relaxed(&w->state); /* decided by the CAS */
  return state == VOLT_WAITER_PENDING_ ||
         (state == VOLT_WAITER_TIMED_ && cond_decide(w, VOLT_WAITER_PENDING_));
}

/* Move the oldest waiters to the mutex, at most `most` of them. mark: what their data becomes. */
static void cond_signal_up_to(volt_cond *c, uint32_t most, void *mark) {
  uint64_t word;
  volt_fifo_ *q = &c->queue;
  if (!volt_fifo_lock_if_queued_(q, &word)) return; /* R1 */
  volt_waiter *last = NULL;
  uint32_t taken = 0;
  volt_waiter *w = q->head;
  for (uint32_t left = q->waiters; left > 0 && taken < most; left--) {
    volt_waiter *next = w->next;
    if (cond_take(w)) {
      w->data = mark;
      taken += 1;
      last = w;
    } else { /* R7: out of the way; its thread unlinks it */
      volt_fifo_unlink_(q, w);
      volt_fifo_push_back_(q, w);
    }
    w = next;
  }
  if (taken > 0) {
    volt_count_claims_(VOLT_KIND_COND_, taken, false);
    volt_mutex_move_(c->mutex, q, word, last, taken);
  } else {
    volt_fifo_unlock_(q, word);
  }
}

void volt_cond_signal(volt_cond *c) {
  cond_signal_up_to(c, 1, cond_mark_alone(c));
}

void volt_cond_broadcast(volt_cond *c) {
  cond_signal_up_to(c, UINT32_MAX, cond_mark_broadcast(c));
}

uint32_t volt_cond_waiters(const volt_cond *c) {
  return volt_fifo_count_(&c->queue);
}

/* ---- future ---- */

static volt_cond *cond_of(volt_future *f) {
  return (volt_cond *)f->object;
}

static int cond_start(volt_future *f, volt_waker waker) {
  (void)waker;
  volt_panic_(volt_kind_api_(VOLT_KIND_COND_), "%p: future %p was started twice", f->object,
              (void *)f);
}

static bool cond_cancel(volt_future *f) {
  return volt_cond_cancel(cond_of(f), &f->waiter);
}

static bool cond_set_waker(volt_future *f, volt_waker waker) {
  return volt_cond_set_waker(cond_of(f), &f->waiter, waker);
}

static void cond_give_back(volt_future *f) {
  cond_pass_on(cond_of(f), &f->waiter);
  volt_mutex_unlock(cond_mutex_of(&f->waiter));
}

#if VOLT_SIGHT
static int cond_outcome(volt_future *f) {
  cond_took(&f->waiter);
  return VOLT_OK;
}
#endif

static void cond_describe(volt_future *f, volt_description_ *description) {
  if (!description->is_granted)
    volt_describe_queue_(description, &cond_of(f)->queue, VOLT_ENDS_UNKNOWN_);
}

static const volt_future_ops_ cond_ops = {.operation = "volt_cond_wait",
                                          .kind = VOLT_KIND_COND_,

                                          .start = cond_start,
                                          .cancel = cond_cancel,
                                          .set_waker = cond_set_waker,
                                          .give_back = cond_give_back,
#if VOLT_SIGHT
                                          .outcome = cond_outcome,
#endif
                                          .poll_ctx = volt_future_poll_leaf_any_,
                                          .describe = cond_describe};

static const volt_future_ops_ *cond_future_ops(void) {
  return &cond_ops;
}

volt_future *volt_cond_wait_future(volt_future *f, volt_cond *c, volt_mutex *m) {
  static const volt_waker no_waker = {NULL, NULL};
  volt_future_make_(f, &cond_ops, c, 0);
  volt_future_set_state_(f, VOLT_FUTURE_WAITING_);
  (void)volt_cond_wait_waiter(c, m, &f->waiter, no_waker);
  if (volt_wait_times_are_on_()) volt_wait_times_begin_(f, NULL);
  return f;
}

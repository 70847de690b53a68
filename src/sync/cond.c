/* cond.c: a FIFO of those who wait for a signal, and their way into the queue of the mutex.
 *
 * Algorithm: a waiter is linked here with the mutex held, and armed as one that wants the mutex. A
 * signal takes it out under the lock of this queue and appends it to the queue of the mutex under
 * that one's; from then on it is a waiter like any other there, and is granted by an unlock. If the
 * mutex is free the signal is what grants it. A broadcast does that with the whole FIFO at once: a
 * step for each waiter under the lock of this queue, one step for all under that of the mutex.
 * Locks are taken in this order only: here, then the mutex.
 *
 * Invariants, whenever the locks are free
 *   I1  QUEUED <=> the FIFO is not empty
 *   I2  w->queue says where a pending waiter is: here, linked; or the mutex's, and it does not
 *       come back. It changes once, under the lock of this queue.
 *   I3  whoever is linked here wants the mutex that c->mutex says
 *   I4  a signal that found a waiter ends in a grant of the mutex, or finds nobody who waits
 *
 * Races
 *   R1  The waiter has unlocked the mutex and is not queued yet when the signal comes. Closed:
 *       queued first, then unlocked. A signal that looks without the lock sees QUEUED, for the
 *       condition was changed with the mutex held, after this waiter had it.
 *   R2  A signal takes the waiter along before the wait has unlocked the mutex. Nothing happens: it
 *       waits there, for this very unlock; the wait does not touch *w any more.
 *   R3  A cancel meets a signal. Closed: the lock says where the waiter is. Here: taken out, and no
 *       signal has seen it. There: the cancel of the mutex decides, and a signal that nobody else
 *       will get is passed on. A broadcast is not, for all have got it.
 *   R4  A new waker meets a signal. Closed: as R3.
 *   R5  The one who gets the mutex ends the life of *c while the signal is still at work on it.
 *       Closed: the lock of this queue is left while that of the mutex is held, and before the
 *       waiter can be granted.
 *   R6  A deadline passes while the waiter is already on its way. Closed: as R7; and there it
 *       stays, because it has to have the mutex in any case.
 *   R7  Interleaving: a broadcast takes a timed waiter to the mutex; the caller of the broadcast
 *       ends and frees *c, which POSIX allows; the deadline passes, and the waiter's thread looks
 *       in *c whether it is still linked. Prevented by: the waiter's own state decides, by one
 *       compare-and-swap on each side. The thread turns TIMED into LEAVING before it touches *c
 *       again; a signal turns TIMED into PENDING before it takes the waiter along. A signal leaves
 *       a waiter that is LEAVING where it is, so *c has a waiter linked, and destroy() waits.
 *
 * Pairs
 *   L1 (acquire) <- U1 (release)   who holds the lock of this queue sees what the last holder did
 *   A1, L1 <- F1, U1 of the mutex, and W1 <- G1: in permits.c and grant.c */
#include <volt/cond.h>

#include "../core/check.h"
#include "../core/fifo.h"
#include "../core/future_ops.h"
#include "../core/monitor.h"
#include "../core/spin.h"
#include "mutex_move.h"

static const char cond_name[] = "volt_cond";

/* w->data of a waiter says which condition variable it waits on, and whether a broadcast took it
 * from there: the address of one of two members. */
static void *cond_mark_alone(volt_cond *c) {
  return &c->queue;
}

static void *cond_mark_broadcast(volt_cond *c) {
  return &c->mutex;
}

static bool cond_is_mine(volt_cond *c, const volt_waiter *w) {
  return w->data == cond_mark_alone(c) || w->data == cond_mark_broadcast(c);
}

/* The lock is held: whether *w is linked here (I2). */
static bool cond_is_here(const volt_cond *c, const volt_waiter *w) {
  return w->queue == &c->queue;
}

void volt_cond_init(volt_cond *c) {
  volt_fifo_init_(&c->queue, 0);
  c->mutex = NULL;
}

/* The lock is held. Whether all who are linked are about to unlink themselves. */
static bool cond_all_are_leaving(const volt_cond *c) {
  for (volt_waiter *w = c->queue.head; w; w = w->next) {
    if (volt_load_relaxed(&w->state) != VOLT_WAITER_LEAVING_) return false; /* R7: it stays so */
  }
  return true;
}

void volt_cond_destroy(volt_cond *c) {
  uint64_t word;
  for (unsigned spins = 0; volt_fifo_lock_if_queued_(&c->queue, &word); volt_pause_(&spins)) {
    bool is_used = !cond_all_are_leaving(c);
    volt_fifo_unlock_(&c->queue, word);
    if (is_used) break; /* that is misuse */
  }
  volt_monitor_destroy_(&c->queue, cond_name);
}

/* ---- wait ---- */

/* state: PENDING, or TIMED (R7). */
static void cond_wait(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker,
                      uint32_t state) {
  volt_waiter_check_unused_(cond_name, w);
  VOLT_CHECK(volt_mutex_is_locked(m), cond_name, "%p: wait with mutex %p, which is not locked",
             (void *)c, (void *)m);
  uint64_t word;
  volt_fifo_lock_(&c->queue, &word); /* L1: pairs U1 */
  VOLT_CHECK(!c->queue.head || c->mutex == m, cond_name,
             "%p: wait with mutex %p, while others wait with mutex %p", (void *)c, (void *)m,
             (void *)c->mutex);
  c->mutex = m; /* I3 */
  w->data = cond_mark_alone(c);
  volt_fifo_append_(&c->queue, w, 1, 1, waker);
  volt_store_relaxed(&w->state, state); /* published by U1 */
  volt_fifo_unlock_(&c->queue, word);   /* R1: now a signal finds it */
  volt_mutex_unlock(m);                 /* R2 */
}

int volt_cond_wait(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker) {
  cond_wait(c, m, w, waker, VOLT_WAITER_PENDING_);
  return VOLT_PENDING;
}

/* Take *w out if it still waits for a signal. Returns whether it did. */
static bool cond_withdraw(volt_cond *c, volt_waiter *w) {
  uint64_t word;
  volt_fifo_lock_(&c->queue, &word); /* L1: pairs U1 */
  VOLT_CHECK(cond_is_mine(c, w), cond_name, "%p: waiter %p waits for something else", (void *)c,
             (void *)w);
  bool here = cond_is_here(c, w); /* R3 */
  if (here) {
    volt_fifo_remove_(&c->queue, w);
    volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: the owner's own again */
  }
  volt_fifo_unlock_(&c->queue, word);
  return here;
}

/* It has been taken there. */
static volt_mutex *cond_mutex_of(volt_waiter *w) {
  return volt_container_of((volt_fifo_ *)(void *)w->queue, volt_mutex, queue);
}

/* It got a signal, and has no use for it. */
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
  volt_fifo_lock_(&c->queue, &word); /* L1: pairs U1 */
  bool here = cond_is_here(c, w);    /* R4 */
  if (here) {
    w->wake = waker.wake;
    w->ctx = waker.ctx;
  }
  volt_fifo_unlock_(&c->queue, word);
  return here || volt_fifo_set_waker_(&cond_mutex_of(w)->queue, "volt_mutex", w, waker);
}

/* A timed waiter moves from state to next, unless the other side was first. relaxed: the value alone
 * decides; what else is to be seen is seen under the lock. */
static bool cond_decide(volt_waiter *w, uint32_t next) {
  uint32_t seen = VOLT_WAITER_TIMED_;
  return volt_cas_relaxed(&w->state, &seen, next); /* R7 */
}

int volt_cond_wait_blocking(volt_cond *c, volt_mutex *m, uint64_t deadline_ns) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  bool is_timed = deadline_ns != VOLT_NO_DEADLINE;
  cond_wait(c, m, &w, volt_parker_waker(&parker),
            is_timed ? VOLT_WAITER_TIMED_ : VOLT_WAITER_PENDING_);
  if (volt_park_in_("volt_cond_wait_blocking", &parker, 1, deadline_ns) == VOLT_OK) return VOLT_OK;
  if (!cond_decide(&w, VOLT_WAITER_LEAVING_)) { /* R6, R7: *c may be gone */
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
    return VOLT_OK;
  }
  (void)cond_withdraw(c, &w); /* R7: linked, because no signal takes it any more */
  volt_mutex_lock_no_deadline(m);
  return VOLT_ETIMEDOUT;
}

/* ---- signal ---- */

/* The lock is held. Whether *w is to be taken to the mutex; if so, no timeout takes it away. */
static bool cond_take(volt_waiter *w) {
  uint32_t state = volt_load_relaxed(&w->state); /* decided by the CAS */
  return state == VOLT_WAITER_PENDING_ ||
         (state == VOLT_WAITER_TIMED_ && cond_decide(w, VOLT_WAITER_PENDING_));
}

/* Signal the oldest waiters, at most `most` of them. mark: what their data becomes. */
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
    } else { /* R7: out of the way, its thread unlinks it */
      volt_fifo_unlink_(q, w);
      volt_fifo_push_back_(q, w);
    }
    w = next;
  }
  if (taken > 0) {
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
  volt_panic_(cond_name, "%p: future %p was started twice", f->object, (void *)f);
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

static const volt_future_ops_ cond_ops = {.name = cond_name,
                                          .start = cond_start,
                                          .cancel = cond_cancel,
                                          .set_waker = cond_set_waker,
                                          .give_back = cond_give_back};

volt_future *volt_cond_wait_future(volt_future *f, volt_cond *c, volt_mutex *m) {
  static const volt_waker no_waker = {NULL, NULL};
  volt_future_make_(f, &cond_ops, c, 0);
  f->state = VOLT_FUTURE_WAITING_;
  (void)volt_cond_wait(c, m, &f->waiter, no_waker);
  f->id = f->waiter.id;
  return f;
}

/* look.c: look at a wait while others may end it.
 *
 * Algorithm: what a look reads is of two kinds. The future, and what it is composed of, are its
 * owner's; the caller is the owner, or has claimed the task that is, so they rest. The object is
 * shared: of it only atomic words are read, relaxed, and members that never change after its init.
 * A queue is plain memory under the lock of its FIFO. So a thread that wants a place in it takes that
 * lock, if it is free within a moment; a thread that is stopped with the lock held is not waited
 * for.
 *
 * Invariants
 *   I1  the future is WAITING => its object lives: the next poll or cancel may access it
 *       (volt/future.h)
 *   I2  a look writes nothing that others read, but the lock bit of a FIFO, for as long as it walks
 *       along at most `max` waiters
 *
 * Races
 *   R1  Interleaving: the waiter is granted; the granter's program ends the object, although the
 *       future has not been polled; a look reads the object. Prevented by: a look that finds the
 *       grant does not read the object. If the grant comes later, the object lives by I1: such a
 *       program has the same race with a poll.
 *   R2  Interleaving: a look walks along a queue while a granter unlinks a waiter there. Prevented
 *       by: both hold the lock.
 *   R3  Interleaving: a signal moves the waiter of a condition variable to the mutex (cond.c) while
 *       a look takes the lock of the condition variable. Prevented by: the lock says where the
 *       waiter is. It is moved once, so the second lock is the last.
 *
 * Labels: look */
#include "look.h"

#include <stdarg.h>
#include <stdio.h>

#include "../future/future_ops.h"
#include "../future/leaf.h"
#include "../park/spin.h"
#include "../wait/fifo.h"

/* For how many volt_cpu_relax_() a look waits for the lock of a queue. */
enum { LOOK_PATIENCE = 64 };

/* Whether f, which is WAITING, has an outcome that its owner has not seen. */
static bool look_is_completed(volt_future *f) {
  uint32_t state = volt_load_relaxed(&volt_leaf_waiter_(f, f->ops)->state); /* a snapshot: R1 */
  return state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_;
}

static const char *look_operation(const volt_future_ops_ *ops) {
  if (!ops) return "nothing";
  return ops->operation ? ops->operation : "a future";
}

void volt_look_as_(volt_look_ *look, const char *operation, volt_kind_ kind, const void *object) {
  look->operation = operation;
  look->kind = kind;
  look->object = object;
  look->ends = VOLT_ENDS_UNKNOWN_;
  look->wanted = 0;
  look->waiters = 0;
  look->place = 0;
  look->deadline_ns = VOLT_NO_DEADLINE;
  look->left_ns = 0;
  look->is_ready = false;
  look->is_granted = false;
  look->for_write = false;
  look->state[0] = 0;
  look->queue = NULL;
}

static void look_at(volt_future *f, volt_look_ *look) {
  const volt_future_ops_ *ops = f->ops;
  volt_look_as_(look, look_operation(ops), ops ? ops->kind : VOLT_KIND_NONE_,
                ops ? f->object : NULL);
  if (!ops) return;
  uint8_t state = volt_future_state_(f);
  look->is_ready = state == VOLT_FUTURE_READY_;
  bool waits = volt_future_is_leaf_(f) && volt_future_is_waiting_(f);
  look->is_granted = look->is_ready || (waits && look_is_completed(f));
  if (ops->describe) ops->describe(f, look);
  look->is_granted = look->is_granted && !look->is_ready;
}

void volt_look_at_(volt_future *f, volt_look_ *look) {
  look->is_brief = false;
  look_at(f, look);
}

void volt_look_briefly_(volt_future *f, volt_look_ *look) {
  look->is_brief = true;
  look_at(f, look);
}

volt_future *volt_look_inside_(volt_future *f, unsigned i) {
  bool is_composed = f->ops && f->ops->inside && volt_future_state_(f) != VOLT_FUTURE_READY_;
  return is_composed ? f->ops->inside(f, i) : NULL;
}

struct volt_frame *volt_look_frame_(volt_future *f) {
  return f->ops && f->ops->frame ? f->ops->frame(f) : NULL;
}

void volt_look_say_(volt_look_ *look, const char *format, ...) {
  if (look->is_brief) return;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(look->state, sizeof look->state, format, args);
  va_end(args);
}

/* ---- the place in a queue ---- */

typedef enum look_lock_ { LOOK_EMPTY, LOOK_LOCKED, LOOK_IN_VAIN } look_lock_;

/* Take the lock if a waiter is queued, and the lock is free within a moment. EMPTY: none is, and
 * what the last holder of the lock did is seen. */
static look_lock_ look_lock(volt_fifo_ *q, uint64_t *word) {
  for (unsigned i = 0; i < LOOK_PATIENCE; i++) {
    /* look:Q1 <- fifo:U1: where the waiters are that have left the queue */
    *word = volt_load_acquire(&q->word);
    if (!(*word & VOLT_WORD_QUEUED_)) return LOOK_EMPTY;
    if (!(*word & VOLT_WORD_LOCKED_) && volt_fifo_lock_from_(q, *word)) return LOOK_LOCKED;
    volt_cpu_relax_();
  }
  return LOOK_IN_VAIN;
}

/* The lock is held. The place of *w among the first `max`, from 1; 0: it is not there. */
static uint32_t look_place(const volt_fifo_ *q, const volt_waiter *w, unsigned max) {
  uint32_t place = 0;
  for (const volt_waiter *at = q->head; at && place < max; at = at->next) {
    place += 1;
    if (at == w) return place;
  }
  return 0;
}

/* Returns the queue that *w has been moved to (R3); NULL: it has not, or that is not known. */
static volt_fifo_ *look_in_queue(volt_fifo_ *q, volt_waiter *w, volt_look_ *look, unsigned max) {
  uint64_t word;
  look_lock_ how = look_lock(q, &word);
  if (how == LOOK_IN_VAIN) return NULL;
  volt_fifo_ *its = (volt_fifo_ *)(void *)w->queue;
  if (how == LOOK_LOCKED) {
    look->waiters = q->waiters;
    look->place = look_place(q, w, max);
    volt_fifo_unlock_exact_(q, word);
  }
  return its == q ? NULL : its;
}

void volt_look_for_place_(volt_future *f, volt_look_ *look, unsigned max) {
  look->waiters = 0;
  look->place = 0;
  if (!look->queue || look->is_ready || look->is_granted) return;
  volt_waiter *w = volt_leaf_waiter_(f, f->ops);
  volt_fifo_ *moved_to = look_in_queue(look->queue, w, look, max);
  if (!moved_to) return;
  volt_look_in_(look, moved_to, VOLT_ENDS_HOLDERS_);
  look->kind = VOLT_KIND_MUTEX_;
  look->object = moved_to; /* which begins with its queue */
  volt_look_say_(look, "signalled");
  (void)look_in_queue(moved_to, w, look, max);
}

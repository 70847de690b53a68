/* describe.c: describe a wait while others may end it.
 *
 * Algorithm: what is read for that is of two kinds. The future, and what it is composed of, are its
 * owner's; the caller is the owner, or has claimed the task that is, so they rest. The object is
 * shared: of it only atomic words are read, relaxed, and members that never change after its init.
 * A queue is plain memory under the lock of its FIFO. So a thread that wants a place in it takes that
 * lock, if it is free within a moment; a thread that is stopped with the lock held is not waited
 * for.
 *
 * Invariants
 *   I1  the future is WAITING => its object lives: the next poll or cancel may access it
 *       (volt/future.h)
 *   I2  a description writes nothing that others read, but the lock bit of a FIFO, for as long as
 *   it walks
 *       along at most `max` waiters
 *
 * Races
 *   R1  Interleaving: the waiter is granted; the granter's program ends the object, although the
 *       future has not been polled; an inspector reads the object. Prevented by: a reader that
 *       finds the
 *       grant does not read the object. If the grant comes later, the object lives by I1: such a
 *       program has the same race with a poll.
 *   R2  Interleaving: an inspector walks along a queue while a granter unlinks a waiter there.
 *   Prevented
 *       by: both hold the lock.
 *   R3  Interleaving: a signal moves the waiter of a condition variable to the mutex (cond.c) while
 *       an inspector takes the lock of the condition variable. Prevented by: the lock says where the
 *       waiter is. It is moved once, so the second lock is the last.
 *
 * Labels: describe */
#include "describe.h"

#include <stdarg.h>
#include <stdio.h>

#include "../future/future_ops.h"
#include "../future/leaf.h"
#include "../park/spin.h"
#include "../wait/fifo.h"

/* For how many volt_cpu_relax_() an inspector waits for the lock of a queue. */
enum { DESCRIBE_PATIENCE = 64 };

/* Whether f, which is WAITING, has an outcome that its owner has not seen. */
static bool describe_is_completed(volt_future *f) {
  uint32_t state = volt_load_relaxed(&volt_leaf_waiter_(f, f->ops)->state); /* a snapshot: R1 */
  return volt_waiter_is_completed_(state);
}

static const char *describe_operation(const volt_future_ops_ *ops) {
  if (!ops) return "nothing";
  return ops->operation ? ops->operation : "a future";
}

void volt_describe_as_(volt_description_ *description, const char *operation, volt_kind_ kind,
                       const void *object) {
  description->operation = operation;
  description->kind = kind;
  description->object = object;
  description->ends = VOLT_ENDS_UNKNOWN_;
  description->wanted = 0;
  description->waiters = 0;
  description->place = 0;
  description->deadline_ns = VOLT_NO_DEADLINE;
  description->left_ns = 0;
  description->is_ready = false;
  description->is_granted = false;
  description->for_write = false;
  description->state[0] = 0;
  description->queue = NULL;
}

static void describe(volt_future *f, volt_description_ *description) {
  const volt_future_ops_ *ops = f->ops;
  volt_describe_as_(description, describe_operation(ops), ops ? ops->kind : VOLT_KIND_NONE_,
                    ops ? f->object : NULL);
  if (!ops) return;
  uint8_t state = volt_future_state_(f);
  description->is_ready = state == VOLT_FUTURE_READY_;
  bool waits = volt_future_is_leaf_(f) && volt_future_is_waiting_(f);
  description->is_granted = description->is_ready || (waits && describe_is_completed(f));
  if (ops->describe) ops->describe(f, description);
  description->is_granted = description->is_granted && !description->is_ready;
}

void volt_describe_(volt_future *f, volt_description_ *description) {
  description->is_brief = false;
  describe(f, description);
}

void volt_describe_briefly_(volt_future *f, volt_description_ *description) {
  description->is_brief = true;
  describe(f, description);
}

volt_future *volt_future_inside_(volt_future *f, unsigned i) {
  bool is_composed = f->ops && f->ops->inside && volt_future_state_(f) != VOLT_FUTURE_READY_;
  return is_composed ? f->ops->inside(f, i) : NULL;
}

struct volt_frame *volt_future_frame_(volt_future *f) {
  return f->ops && f->ops->frame ? f->ops->frame(f) : NULL;
}

void volt_describe_state_(volt_description_ *description, const char *format, ...) {
  if (description->is_brief) return;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(description->state, sizeof description->state, format, args);
  va_end(args);
}

/* ---- the place in a queue ---- */

typedef enum describe_lock_ { DESCRIBE_EMPTY, DESCRIBE_LOCKED, DESCRIBE_IN_VAIN } describe_lock_;

/* Take the lock if a waiter is queued, and the lock is free within a moment. EMPTY: none is, and
 * what the last holder of the lock did is seen. */
static describe_lock_ describe_lock(volt_fifo_ *q, uint64_t *word) {
  for (unsigned i = 0; i < DESCRIBE_PATIENCE; i++) {
    /* describe:Q1 <- fifo:U1: where the waiters are that have left the queue */
    *word = volt_load_acquire(&q->word);
    if (!(*word & VOLT_WORD_QUEUED_)) return DESCRIBE_EMPTY;
    if (!(*word & VOLT_WORD_LOCKED_) && volt_fifo_lock_from_(q, *word)) return DESCRIBE_LOCKED;
    volt_cpu_relax_();
  }
  return DESCRIBE_IN_VAIN;
}

/* The lock is held. The place of *w among the first `max`, from 1; 0: it is not there. */
static uint32_t describe_place(const volt_fifo_ *q, const volt_waiter *w, unsigned max) {
  uint32_t place = 0;
  for (const volt_waiter *at = q->head; at && place < max; at = at->next) {
    place += 1;
    if (at == w) return place;
  }
  return 0;
}

/* Returns the queue that *w has been moved to (R3); NULL: it has not, or that is not known. */
static volt_fifo_ *describe_in_queue(volt_fifo_ *q, volt_waiter *w, volt_description_ *description,
                                     unsigned max) {
  uint64_t word;
  describe_lock_ how = describe_lock(q, &word);
  if (how == DESCRIBE_IN_VAIN) return NULL;
  volt_fifo_ *its = (volt_fifo_ *)(void *)w->queue;
  if (how == DESCRIBE_LOCKED) {
    description->waiters = q->waiters;
    description->place = describe_place(q, w, max);
    volt_fifo_unlock_exact_(q, word);
  }
  return its == q ? NULL : its;
}

void volt_describe_place_(volt_future *f, volt_description_ *description, unsigned max) {
  description->waiters = 0;
  description->place = 0;
  if (!description->queue || description->is_ready || description->is_granted) return;
  volt_waiter *w = volt_leaf_waiter_(f, f->ops);
  volt_fifo_ *moved_to = describe_in_queue(description->queue, w, description, max);
  if (!moved_to) return;
  volt_describe_queue_(description, moved_to, VOLT_ENDS_HOLDERS_);
  description->kind = VOLT_KIND_MUTEX_;
  description->object = moved_to; /* which begins with its queue */
  volt_describe_state_(description, "signalled");
  (void)describe_in_queue(moved_to, w, description, max);
}

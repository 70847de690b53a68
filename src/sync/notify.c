/* notify.c: one stored notification and a count in the word, on the monitor (monitor.h).
 *
 * Algorithm: the value of the word is how often all were notified, and whether one notification is
 * stored. While no waiter is queued and the lock is free, one compare-and-swap changes it.
 * Otherwise a thread takes the lock. A future remembers the count from when it was made. A waiter
 * that was notified alone is marked, so that a future that is dropped then can pass the
 * notification on.
 *
 * Invariants, whenever the lock is free
 *   I1  If a notification is stored, no waiter is queued.
 *   I2  If a waiter is queued, the epoch of the FIFO is the count in the word. So a waiter that is
 *       queued carries the count from when it was queued; that is also the count from when its
 *       future was made, because else the future would be ready. (While no waiter is queued, the
 *       count changes without the lock, and the epoch stays behind.)
 *
 * Races
 *   R1  Interleaving: a notifier finds no waiter and stores its notification, while a waiter finds
 *       none stored and queues. Prevented by: what is stored and QUEUED are in one word. Taking the
 *       lock changes that word, and a fast path does not change a word that is LOCKED.
 *   R2  Interleaving: all are notified between the making of a future and its first poll. Prevented
 *       by: the count. A future that is made with the new count has acquired what happened before,
 *       so the check of the condition that follows finds it. (Exactly 2^31 notifications between
 *       the two would go unnoticed.) */
#include <volt/notify.h>

#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/park/spin.h"
#include "../core/wait/monitor.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define STORED VOLT_WORD_(1)
#define NOTIFIED_ALL VOLT_WORD_(2) /* all are notified once more */

/* How often all were notified, modulo 2^31. */
static uint32_t notify_count_of(uint64_t word) {
  return VOLT_WORD_VALUE_(word) / 2;
}

/* w->data of a waiter says whether it got a notification alone, from volt_notify_one() or the
 * stored one. If its future is dropped, that notification is passed on. */
static void notify_set_alone(volt_waiter *w) {
  w->data = w;
}

static void notify_clear_alone(volt_waiter *w) {
  w->data = NULL;
}

static bool notify_is_alone(const volt_waiter *w) {
  return w->data != NULL;
}

void volt_notify_init(volt_notify *n) {
  volt_fifo_init_(&n->queue, 0);
}

void volt_notify_destroy(volt_notify *n) {
  volt_unname_at_end_(n);
  volt_monitor_destroy_(&n->queue, VOLT_KIND_NOTIFY_);
}

/* A waiter is queued, or the lock is taken. */
static VOLT_NOINLINE void notify_one_locked(volt_notify *n) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &n->queue, VOLT_KIND_NOTIFY_);
  volt_waiter *w = volt_monitor_oldest_(&t);
  if (w) {
    notify_set_alone(w);
    volt_monitor_release_(&t, w);
  } else {
    t.word |= STORED;
  }
  volt_monitor_exit_(&t);
}

void volt_notify_one(volt_notify *n) {
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  while (!(word & (QUEUED | LOCKED))) {
    /* notify:F1 -> notify:T1, fifo:L1: the waiter that takes it sees what came before */
    if (volt_cas_release(&n->queue.word, &word, word | STORED)) return;
  }
  notify_one_locked(n);
}

/* A waiter is queued, or the lock is taken. */
static VOLT_NOINLINE void notify_all_locked(volt_notify *n) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &n->queue, VOLT_KIND_NOTIFY_);
  t.word += NOTIFIED_ALL;
  volt_monitor_set_epoch_(&t, notify_count_of(t.word)); /* I2: which releases all */
  volt_monitor_exit_(&t);
}

void volt_notify_all(volt_notify *n) {
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  while (!(word & (QUEUED | LOCKED))) {
    /* notify:F1 -> notify:T1, fifo:L1: a waiter that finds another count sees what came before */
    if (volt_cas_release(&n->queue.word, &word, word + NOTIFIED_ALL)) return;
  }
  notify_all_locked(n);
}

/* Take the stored notification without the lock. Returns false: none is stored, or the lock is
 * needed to know. */
static bool notify_take_stored(volt_notify *n, uint64_t word) {
  if ((word & (STORED | QUEUED | LOCKED)) != STORED) return false;
  /* notify:T1 <- notify:F1, fifo:U1: the waiter that takes it sees what came before */
  return volt_cas_acquire(&n->queue.word, &word, word - STORED);
}

static int notify_wait_locked(volt_monitor_ *t, volt_waiter *w, volt_waker waker) {
  if (t->word & STORED) {
    t->word -= STORED;
    notify_set_alone(w);
    return VOLT_OK;
  }
  notify_clear_alone(w);
  volt_monitor_set_epoch_(t, notify_count_of(t->word)); /* I2: no change if others are queued */
  return volt_monitor_append_(t, w, waker);             /* I1 */
}

int volt_notify_wait_waiter(volt_notify *n, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_NOTIFY_, w);
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  if (notify_take_stored(n, word)) return VOLT_OK;
  volt_monitor_ t;
  volt_monitor_lock_(&t, &n->queue, VOLT_KIND_NOTIFY_);
  int result = notify_wait_locked(&t, w, waker);
  volt_monitor_unlock_(&t);
  return result;
}

bool volt_notify_cancel(volt_notify *n, volt_waiter *w) {
  return volt_monitor_cancel_(&n->queue, VOLT_KIND_NOTIFY_, w);
}

uint32_t volt_notify_waiters(const volt_notify *n) {
  return volt_fifo_count_(&n->queue);
}

/* ---- future ---- */

static volt_notify *notify_of(volt_future *f) {
  return volt_container_of(f->object, volt_notify, queue);
}

/* Whether all were notified since *f was made. */
static bool notify_is_opened(const volt_future *f, uint64_t word) {
  return notify_count_of(word) != volt_future_n_(f);
}

static VOLT_INLINED_ int notify_begin(volt_future *f, const volt_waker *waker) {
  volt_notify *n = notify_of(f);
  /* notify:T1 <- notify:F1, fifo:U1: a waiter that finds another count sees what came before */
  uint64_t word = volt_load_acquire(&n->queue.word);
  if (notify_is_opened(f, word)) return VOLT_OK;
  if (notify_take_stored(n, word)) {
    notify_set_alone(&f->waiter);
    return VOLT_OK;
  }
  volt_monitor_ t;
  volt_monitor_lock_(&t, &n->queue, VOLT_KIND_NOTIFY_);
  int result = notify_is_opened(f, t.word) ? (int)VOLT_OK
                                           : notify_wait_locked(&t, &f->waiter, *waker); /* R2 */
  volt_monitor_unlock_(&t);
  return result;
}

static int notify_start(volt_future *f, volt_waker waker) {
  return notify_begin(f, &waker);
}

static void notify_give_back(volt_future *f) {
  if (notify_is_alone(&f->waiter)) volt_notify_one(notify_of(f));
}

static bool notify_due(volt_future *f) {
  uint64_t word = volt_load_relaxed(&notify_of(f)->queue.word); /* a hint: see monitor.c R6 */
  return notify_is_opened(f, word) && volt_monitor_future_complete_(f);
}

static int notify_poll_ctx(volt_future *f, volt_ctx *ctx);

static const volt_future_ops_ notify_ops = {.operation = "volt_notify",
                                            .kind = VOLT_KIND_NOTIFY_,
                                            .start = notify_start,
                                            .cancel = volt_monitor_future_cancel_,
                                            .set_waker = volt_monitor_future_set_waker_,
                                            .give_back = notify_give_back,
                                            .due = notify_due,
                                            .poll_ctx = notify_poll_ctx,
                                            .describe = volt_monitor_future_describe_};

static int notify_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &notify_ops, notify_begin);
}

volt_future *volt_notify_wait_future(volt_future *f, volt_notify *n) {
  /* notify:T1 <- notify:F1, fifo:U1: a future with this count has what came before it (R2) */
  uint64_t word = volt_load_acquire(&n->queue.word);
  notify_clear_alone(&f->waiter);
  return volt_future_make_(f, &notify_ops, &n->queue, notify_count_of(word));
}

static VOLT_NOINLINE int notify_block(volt_notify *n, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_notify_wait_future(&f, n), deadline_ns);
}

extern inline int volt_notify_wait(volt_notify *);

int volt_notify_wait_until(volt_notify *n, uint64_t deadline_ns) {
  volt_check_blocks_("volt_notify_wait_until", deadline_ns);
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  return notify_take_stored(n, word) ? (int)VOLT_OK : notify_block(n, deadline_ns);
}

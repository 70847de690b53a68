/* notify.c: one stored notification and a count in the word of the queue, and turns (monitor.h) for
 * those who wait.
 *
 * Algorithm: the value of the word is how often everybody was notified, and whether one notification
 * is stored. While nobody waits and nobody has the lock, it is changed by one compare-and-swap; else
 * in a turn. A future remembers the count of when it was made. A waiter that was notified alone is
 * marked, so that a future that is dropped then can pass it on.
 *
 * Invariant I1, whenever the lock is free: one is stored => nobody is queued.
 *
 * Races
 *   R1  A notifier finds nobody and stores it, while a waiter finds nothing stored and queues.
 *       Closed: what is stored and QUEUED are one word. To take the lock is to change it, and a
 *       fast path does not touch a word that is LOCKED.
 *   R2  Everybody is notified between a future's making and its first poll. Closed: the count. Who
 *       is made with the new one has acquired what had happened before, and finds it when it looks.
 *       (2^31 times between the two, exactly, would go unnoticed.)
 *
 * Pairs
 *   T1 (acquire) <- F1, U1 (release)   who takes what is stored, or finds another count, sees what
 *                                      came before: the writes of the word are RMWs, and U1 (fifo.h)
 *   L1 (acquire) <- F1, U1 (release)   so does who is notified in a turn, and by G1
 *                                      who waited */
#include <volt/notify.h>

#include "../core/future_ops.h"
#include "../core/monitor.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define STORED VOLT_WORD_(1)
#define NOTIFIED_ALL VOLT_WORD_(2) /* once more */

static const char notify_name[] = "volt_notify";

/* How often everybody was notified, modulo 2^31. */
static uint32_t notify_count_of(uint64_t word) {
  return VOLT_WORD_VALUE_(word) / 2;
}

/* w->data of a waiter: whether one notification was meant for it alone, by volt_notify_one() or
 * because it took the stored one. If its future is dropped, that notification is passed on. */
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
  volt_monitor_destroy_(&n->queue, notify_name);
}

void volt_notify_one(volt_notify *n) {
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  while (!(word & (QUEUED | LOCKED))) {
    /* notify:F1 -> notify:T1, fifo:L1: who takes what is stored, or finds another count, sees
     * what came before */
    if (volt_cas_release(&n->queue.word, &word, word | STORED)) return;
  }
  volt_monitor_ t;
  volt_monitor_enter_(&t, &n->queue);
  volt_waiter *w = volt_monitor_oldest_(&t);
  if (w) {
    notify_set_alone(w);
    volt_monitor_release_(&t, w);
  } else {
    t.word |= STORED;
  }
  volt_monitor_exit_(&t);
}

void volt_notify_all(volt_notify *n) {
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  while (!(word & (QUEUED | LOCKED))) {
    /* notify:F1 -> notify:T1, fifo:L1: who takes what is stored, or finds another count, sees
     * what came before */
    if (volt_cas_release(&n->queue.word, &word, word + NOTIFIED_ALL)) return;
  }
  volt_monitor_ t;
  volt_monitor_enter_(&t, &n->queue);
  t.word += NOTIFIED_ALL;
  volt_monitor_release_all_(&t);
  volt_monitor_exit_(&t);
}

/* Without a turn. Returns false: nothing is stored, or it takes a turn to know. */
static bool notify_take_stored(volt_notify *n, uint64_t word, volt_waiter *w) {
  if ((word & (STORED | QUEUED | LOCKED)) != STORED) return false;
  /* notify:T1 <- notify:F1, fifo:U1: who takes what is stored, or finds another count, sees what
   * came before */
  if (!volt_cas_acquire(&n->queue.word, &word, word - STORED)) return false;
  notify_set_alone(w);
  return true;
}

static int notify_wait_locked(volt_monitor_ *t, volt_waiter *w, volt_waker waker) {
  if (t->word & STORED) {
    t->word -= STORED;
    notify_set_alone(w);
    return VOLT_OK;
  }
  notify_clear_alone(w);
  return volt_monitor_append_(t, w, waker); /* I1 */
}

int volt_notify_wait(volt_notify *n, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(notify_name, w);
  uint64_t word = volt_load_relaxed(&n->queue.word); /* a guess: the CAS decides */
  if (notify_take_stored(n, word, w)) return VOLT_OK;
  volt_monitor_ t;
  volt_monitor_look_(&t, &n->queue);
  int result = notify_wait_locked(&t, w, waker);
  volt_monitor_unlock_(&t);
  return result;
}

bool volt_notify_cancel(volt_notify *n, volt_waiter *w) {
  return volt_monitor_cancel_(&n->queue, notify_name, w);
}

uint32_t volt_notify_waiters(const volt_notify *n) {
  return volt_fifo_count_(&n->queue);
}

/* ---- future ---- */

static volt_notify *notify_of(volt_future *f) {
  return volt_container_of(f->object, volt_notify, queue);
}

static bool notify_is_opened(const volt_future *f, uint64_t word) {
  return notify_count_of(word) != f->n;
}

static int notify_start(volt_future *f, volt_waker waker) {
  volt_notify *n = notify_of(f);
  /* notify:T1 <- notify:F1, fifo:U1: who takes what is stored, or finds another count, sees what
   * came before */
  uint64_t word = volt_load_acquire(&n->queue.word);
  if (notify_is_opened(f, word) || notify_take_stored(n, word, &f->waiter)) return VOLT_OK;
  volt_monitor_ t;
  volt_monitor_look_(&t, &n->queue);
  int result = notify_is_opened(f, t.word) ? (int)VOLT_OK
                                           : notify_wait_locked(&t, &f->waiter, waker); /* R2 */
  volt_monitor_unlock_(&t);
  return result;
}

static void notify_give_back(volt_future *f) {
  if (notify_is_alone(&f->waiter)) volt_notify_one(notify_of(f));
}

static bool notify_due(volt_future *f) {
  uint64_t word = volt_load_relaxed(&notify_of(f)->queue.word); /* a hint: see monitor.c R6 */
  return notify_is_opened(f, word) && volt_monitor_future_complete_(f);
}

static const volt_future_ops_ notify_ops = {.name = notify_name,
                                            .start = notify_start,
                                            .cancel = volt_monitor_future_cancel_,
                                            .set_waker = volt_monitor_future_set_waker_,
                                            .give_back = notify_give_back,
                                            .due = notify_due};

volt_future *volt_notify_future(volt_future *f, volt_notify *n) {
  /* notify:T1 <- notify:F1, fifo:U1: who takes what is stored, or finds another count, sees what
   * came before; R2 */
  uint64_t word = volt_load_acquire(&n->queue.word);
  notify_clear_alone(&f->waiter);
  return volt_future_make_(f, &notify_ops, &n->queue, notify_count_of(word));
}

int volt_notify_wait_blocking(volt_notify *n, uint64_t deadline_ns) {
  volt_future f;
  return volt_block_on(volt_notify_future(&f, n), deadline_ns);
}

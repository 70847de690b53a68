/* latch.c: a count in the word of the queue, and turns (monitor.h) for those who wait.
 *
 * Algorithm: while nobody has the lock, the count goes up and down by one compare-and-swap, also
 * while somebody waits. Who finds the lock taken, or would bring the count to zero while somebody
 * waits, takes a turn; in it, the count is the turn's.
 *
 * Invariant I1, whenever the lock is free: count = 0 => nobody waits but who has been let go.
 *
 * Races
 *   R1  The last one counts down and finds nobody, while a waiter finds a count and queues. Closed:
 *       the count and QUEUED are one word. To take the lock is to change it, and a fast path does
 *       not touch a word that is LOCKED.
 *   R2  Whoever finds it open frees it while the one who opened it still uses it. Closed: the step
 *       to zero is the last access: the fast path's CAS, or the one that leaves the lock; and if
 *       there are more to tell than a batch, destroy waits (R2 of monitor.c).
 *
 * Pairs
 *   T1 (acquire) <- F1, U1 (release)   whoever finds it open sees what came before every count
 *                                      down: the writes of the word are RMWs, and U1 (fifo.h)
 *   L1 (acquire) <- F1, U1 (release)   so does who opens it in a turn, and by G1 who is told */
#include <volt/latch.h>

#include "../core/check.h"
#include "../core/future_ops.h"
#include "../core/monitor.h"

static const char latch_name[] = "volt_latch";

extern inline void volt_latch_add(volt_latch *, uint32_t);
extern inline void volt_latch_count_down(volt_latch *, uint32_t);
extern inline void volt_latch_done(volt_latch *);
extern inline int volt_latch_try_wait(volt_latch *);

void volt_latch_init(volt_latch *l, uint32_t count) {
  volt_fifo_init_(&l->queue, count);
}

void volt_latch_destroy(volt_latch *l) {
  volt_monitor_destroy_(&l->queue, latch_name);
}

void volt_latch_add_slow_(volt_latch *l, uint32_t n) {
  volt_monitor_ t;
  volt_monitor_look_(&t, &l->queue);
  uint32_t count = VOLT_WORD_VALUE_(t.word);
  VOLT_CHECK(n <= VOLT_LATCH_MAX - count, latch_name, "%p: %u added to %u", (void *)l, n, count);
  t.word += VOLT_WORD_(n);
  volt_monitor_unlock_(&t);
}

void volt_latch_count_down_slow_(volt_latch *l, uint32_t n) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &l->queue);
  uint32_t count = VOLT_WORD_VALUE_(t.word);
  VOLT_CHECK(n <= count, latch_name, "%p: counted down by %u from %u", (void *)l, n, count);
  t.word -= VOLT_WORD_(n);
  if (n == count) volt_monitor_release_all_(&t); /* I1 */
  volt_monitor_exit_(&t);
}

int volt_latch_wait(volt_latch *l, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(latch_name, w);
  if (volt_latch_try_wait(l) == VOLT_OK) return VOLT_OK;
  volt_monitor_ t;
  volt_monitor_look_(&t, &l->queue);
  int result = VOLT_OK;
  if (VOLT_WORD_VALUE_(t.word) > 0) result = volt_monitor_append_(&t, w, waker);
  volt_monitor_unlock_(&t);
  return result;
}

bool volt_latch_cancel(volt_latch *l, volt_waiter *w) {
  return volt_monitor_cancel_(&l->queue, latch_name, w);
}

uint32_t volt_latch_count(const volt_latch *l) {
  return VOLT_WORD_VALUE_(volt_load_relaxed(&l->queue.word)); /* a snapshot */
}

uint32_t volt_latch_waiters(const volt_latch *l) {
  return volt_fifo_count_(&l->queue);
}

/* ---- future ---- */

static int latch_start(volt_future *f, volt_waker waker) {
  volt_latch *l = volt_container_of(f->object, volt_latch, queue);
  return volt_latch_wait(l, &f->waiter, waker);
}

static void latch_give_back(volt_future *f) {
  (void)f; /* nothing was taken */
}

/* It is open, or it was, and may have been shut again. */
static bool latch_due(volt_future *f) {
  volt_latch *l = volt_container_of(f->object, volt_latch, queue);
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a hint: see monitor.c R6 */
  bool opened = VOLT_WORD_VALUE_(word) == 0 || (word & VOLT_WORD_ALL_RETURNING_);
  return opened && volt_monitor_future_complete_(f);
}

static const volt_future_ops_ latch_ops = {.name = latch_name,
                                           .start = latch_start,
                                           .cancel = volt_monitor_future_cancel_,
                                           .set_waker = volt_monitor_future_set_waker_,
                                           .give_back = latch_give_back,
                                           .due = latch_due};

volt_future *volt_latch_wait_future(volt_future *f, volt_latch *l) {
  return volt_future_make_(f, &latch_ops, &l->queue, 0);
}

int volt_latch_wait_blocking(volt_latch *l, uint64_t deadline_ns) {
  volt_future f;
  return volt_block_on(volt_latch_wait_future(&f, l), deadline_ns);
}

void volt_latch_wait_no_deadline(volt_latch *l) {
  volt_future f;
  int result = volt_block_on(volt_latch_wait_future(&f, l), VOLT_NO_DEADLINE);
  VOLT_ASSERT(result == VOLT_OK);
  (void)result;
}

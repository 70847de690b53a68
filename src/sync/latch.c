/* latch.c: a count in the word, on the monitor (monitor.h).
 *
 * Algorithm: while the lock is free, one compare-and-swap changes the count, also while a waiter is
 * queued. A thread that finds the lock taken, or would bring the count to zero while a waiter is
 * queued, takes the lock. The holder of the lock alone changes the count.
 *
 * Invariant I1, whenever the lock is free: count = 0 => each waiter in the FIFO has been released.
 *
 * Races
 *   R1  Interleaving: the last thread counts down and finds no waiter, while a waiter finds a count
 *       and queues. Prevented by: the count and QUEUED are in one word. Taking the lock changes
 *       that word, and a fast path does not change a word that is LOCKED.
 *   R2  Interleaving: a thread finds the latch open and frees it, while the thread that opened it
 *       still uses it. Prevented by: the step to zero is the last access: the fast path's CAS, or
 *       the store that unlocks. If more waiters are released than a batch holds, destroy() waits
 *       (monitor.c R2). */
#include <volt/latch.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/blocker.h"
#include "../core/park/spin.h"
#include "../core/wait/monitor.h"

extern inline void volt_latch_add(volt_latch *, uint32_t);
extern inline void volt_latch_count_down(volt_latch *, uint32_t);
extern inline void volt_latch_done(volt_latch *);
extern inline int volt_latch_try_wait(volt_latch *);

void volt_latch_init(volt_latch *l, uint32_t count) {
  volt_fifo_init_(&l->queue, count);
}

void volt_latch_destroy(volt_latch *l) {
  volt_unname_at_end_(l);
  volt_monitor_destroy_(&l->queue, VOLT_KIND_LATCH_);
}

void volt_latch_add_slow_(volt_latch *l, uint32_t n) {
  volt_monitor_ t;
  volt_monitor_lock_(&t, &l->queue, VOLT_KIND_LATCH_);
  uint32_t count = VOLT_WORD_VALUE_(t.word);
  VOLT_CHECK(n <= VOLT_LATCH_MAX - count, volt_kind_api_(VOLT_KIND_LATCH_), "%p: %u added to %u",
             (void *)l, n, count);
  t.word += VOLT_WORD_(n);
  volt_monitor_unlock_(&t);
}

void volt_latch_count_down_slow_(volt_latch *l, uint32_t n) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &l->queue, VOLT_KIND_LATCH_);
  uint32_t count = VOLT_WORD_VALUE_(t.word);
  VOLT_CHECK(n <= count, volt_kind_api_(VOLT_KIND_LATCH_), "%p: counted down by %u from %u",
             (void *)l, n, count);
  t.word -= VOLT_WORD_(n);
  if (n == count) volt_monitor_release_all_(&t); /* I1 */
  volt_monitor_exit_(&t);
}

int volt_latch_wait_waiter(volt_latch *l, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_LATCH_, w);
  if (volt_latch_try_wait(l) == VOLT_OK) return VOLT_OK;
  volt_monitor_ t;
  volt_monitor_lock_(&t, &l->queue, VOLT_KIND_LATCH_);
  int result = VOLT_OK;
  if (VOLT_WORD_VALUE_(t.word) > 0) result = volt_monitor_append_(&t, w, waker);
  volt_monitor_unlock_(&t);
  return result;
}

bool volt_latch_cancel(volt_latch *l, volt_waiter *w) {
  return volt_monitor_cancel_(&l->queue, VOLT_KIND_LATCH_, w);
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
  return volt_latch_wait_waiter(l, &f->waiter, waker);
}

static void latch_give_back(volt_future *f) {
  (void)f; /* it has taken nothing */
}

/* Whether it is open. RETURNING: it was open, and may have been counted up again. */
static bool latch_due(volt_future *f) {
  volt_latch *l = volt_container_of(f->object, volt_latch, queue);
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a hint: see monitor.c R6 */
  bool opened = VOLT_WORD_VALUE_(word) == 0 || (word & VOLT_WORD_ALL_RETURNING_);
  return opened && volt_monitor_future_complete_(f);
}

static void latch_describe(volt_future *f, volt_description_ *description) {
  volt_monitor_future_describe_(f, description);
  if (description->is_granted) return;
  uint64_t word = volt_load_relaxed(&((volt_fifo_ *)f->object)->word); /* a snapshot */
  volt_describe_state_(description, "%u to go", VOLT_WORD_VALUE_(word));
}

static const volt_future_ops_ latch_ops = {.operation = "volt_latch_wait",
                                           .kind = VOLT_KIND_LATCH_,
                                           .start = latch_start,
                                           .cancel = volt_monitor_future_cancel_,
                                           .set_waker = volt_monitor_future_set_waker_,
                                           .give_back = latch_give_back,
                                           .due = latch_due,
                                           .poll_ctx = volt_future_poll_leaf_any_,
                                           .describe = latch_describe};

volt_future *volt_latch_wait_future(volt_future *f, volt_latch *l) {
  return volt_future_make_(f, &latch_ops, &l->queue, 0);
}

static VOLT_NOINLINE int latch_block(volt_latch *l, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_latch_wait_future(&f, l), deadline_ns);
}

int volt_latch_wait_until(volt_latch *l, uint64_t deadline_ns) {
  volt_check_blocks_("volt_latch_wait_until", deadline_ns);
  return volt_latch_try_wait(l) == VOLT_OK ? (int)VOLT_OK : latch_block(l, deadline_ns);
}

void volt_latch_wait(volt_latch *l) {
  volt_blocker_ *fiber = volt_shield_();
  int result = volt_latch_wait_until(l, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
  VOLT_ASSERT(result == VOLT_OK);
  (void)result;
}

/* barrier.c: a FIFO of the callers that have arrived, on the monitor (monitor.h).
 *
 * Algorithm: sequential, under the monitor's lock. A critical section begins when all released
 * waiters are out of the FIFO. So the callers that have arrived are those in the FIFO. The last
 * caller is not queued: it releases all of them.
 *
 * Invariant I1, at the beginning of a critical section: arrived = linked < count.
 *
 * Races
 *   R1  Interleaving: the last to arrive is a branch of a select, and another branch, of a channel,
 *       takes effect in the same instant. The round opens, and no caller is its leader. Prevented
 *       by: a caller that would open the round takes the select's decision first. If it does not
 *       get the decision, it has not arrived. */
#include <volt/barrier.h>

#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/monitor.h"

void volt_barrier_init(volt_barrier *b, uint32_t count) {
  VOLT_CHECK(count > 0, "volt_barrier_init", "%p: a barrier of %u", (void *)b, count);
  volt_fifo_init_(&b->queue, 0);
  b->count = count;
}

void volt_barrier_destroy(volt_barrier *b) {
  volt_unname_at_end_(b);
  volt_monitor_destroy_(&b->queue, VOLT_KIND_BARRIER_);
}

static VOLT_INLINED_ int barrier_arrive(volt_barrier *b, volt_waiter *w, volt_decision_ *decision,
                                        const volt_waker *waker) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &b->queue, VOLT_KIND_BARRIER_);
  VOLT_CHECK(b->queue.waiters < b->count, volt_kind_api_(VOLT_KIND_BARRIER_),
             "%p: %u have arrived, of %u%s", (void *)b, (uint32_t)b->queue.waiters, b->count,
             b->count == 0 ? ": it was not initialised: volt_barrier_init()"
                           : ""); /* I1: or it was never initialised */
  int result = VOLT_ECANCELED;
  if (b->queue.waiters < b->count - 1) {
    result = volt_monitor_append_(&t, w, *waker);
    volt_monitor_unlock_(&t);
  } else if (volt_may_take_effect_(decision)) { /* R1 */
    result = VOLT_LEADER;
    volt_monitor_release_all_counted_(&t);
    volt_monitor_exit_(&t);
  } else {
    volt_monitor_unlock_(&t);
  }
  return result;
}

int volt_barrier_wait_waiter(volt_barrier *b, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_BARRIER_, w);
  return barrier_arrive(b, w, NULL, &waker);
}

bool volt_barrier_cancel(volt_barrier *b, volt_waiter *w) {
  return volt_monitor_cancel_(&b->queue, VOLT_KIND_BARRIER_, w);
}

uint32_t volt_barrier_waiters(const volt_barrier *b) {
  return volt_fifo_count_(&b->queue);
}

/* ---- future ---- */

static VOLT_INLINED_ int barrier_begin(volt_future *f, const volt_waker *waker) {
  volt_barrier *b = volt_container_of(f->object, volt_barrier, queue);
  return barrier_arrive(b, &f->waiter, f->decision, waker);
}

static int barrier_start(volt_future *f, volt_waker waker) {
  return barrier_begin(f, &waker);
}

static void barrier_give_back(volt_future *f) {
  (void)f; /* the round is over for the others, too */
}

static int barrier_poll_ctx(volt_future *f, volt_ctx *ctx);

static void barrier_describe(volt_future *f, volt_description_ *description) {
  volt_monitor_future_describe_(f, description);
  if (description->is_granted) return;
  volt_barrier *b = volt_container_of((volt_fifo_ *)f->object, volt_barrier, queue);
  volt_describe_state_(description, "for %u arrivals", b->count);
}

static const volt_future_ops_ barrier_ops = {.operation = "volt_barrier_wait",
                                             .kind = VOLT_KIND_BARRIER_,
                                             .start = barrier_start,
                                             .cancel = volt_monitor_future_cancel_,
                                             .set_waker = volt_monitor_future_set_waker_,
                                             .give_back = barrier_give_back,
                                             .due = volt_monitor_future_complete_counted_,
                                             .poll_ctx = barrier_poll_ctx,
                                             .describe = barrier_describe};

static int barrier_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &barrier_ops, barrier_begin);
}

volt_future *volt_barrier_wait_future(volt_future *f, volt_barrier *b) {
  return volt_future_make_(f, &barrier_ops, &b->queue, 0);
}

extern inline int volt_barrier_wait(volt_barrier *);

int volt_barrier_wait_until(volt_barrier *b, uint64_t deadline_ns) {
  volt_check_blocks_("volt_barrier_wait_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_barrier_wait_future(&f, b), deadline_ns);
}

/* oneshot.c: the monitor (monitor.h) on a slot, and a state: not sent, sent, or received.
 *
 * Algorithm: every operation holds the lock, so each of them is sequential code. All waiters wait
 * for the same event: the value is sent, or the oneshot is closed. That happens once, and releases
 * all waiters. A grant says only that it has happened. The value stays in the slot until a receiver
 * takes it, under the lock.
 *
 * Races
 *   R1  Interleaving: the value is sent; the receiver gives up before it has seen its grant; the
 *       value is lost. Prevented by: the grant does not carry the value. It is in the slot, and the
 *       next receive takes it.
 *   R2  Interleaving: the receiver has the value and frees the oneshot; the sender, still in its
 *       send, accesses it. Prevented by: the sender's last access comes before it completes a
 *       waiter (volt_monitor_exit_()).
 *   R3  Interleaving: a receive takes the value; then the join that it is part of loses a select,
 *       or the select that it has won is given up before it has returned. Prevented by: the slot is
 *       marked full again. Its content is unchanged, because a second send aborts.
 *   R4  Interleaving: a receive takes the value in the poll of a select that another branch has
 *       won; another receiver completes with VOLT_ECLOSED; the first receive puts the value back.
 *       Prevented by: a receive takes the decision of its select before the value. If it cannot, it
 *       leaves the value. */
#include <volt/oneshot.h>

#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

enum { EMPTY = 0, FULL = 1, TAKEN = 2 };

void volt_oneshot_init(volt_oneshot *o, size_t elem_bytes, void *slot) {
  volt_fifo_init_(&o->queue, 0);
  o->slot = slot;
  o->elem_bytes = elem_bytes;
  o->state = EMPTY;
}

void volt_oneshot_destroy(volt_oneshot *o) {
  volt_unname_at_end_(o);
  volt_monitor_destroy_(&o->queue, VOLT_KIND_ONESHOT_);
}

int volt_oneshot_send(volt_oneshot *o, const void *elem) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  VOLT_CHECK(o->state == EMPTY, volt_kind_api_(VOLT_KIND_ONESHOT_), "%p: a second value is sent",
             (void *)o);
  bool closed = volt_monitor_is_closed_(&m);
  if (!closed) {
    VOLT_COPY_(o->slot, elem, o->elem_bytes);
    o->state = FULL;
    volt_monitor_release_all_counted_(&m);
  }
  volt_monitor_exit_(&m); /* R2 */
  return closed ? VOLT_ECLOSED : VOLT_OK;
}

void volt_oneshot_close(volt_oneshot *o) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  if (o->state == EMPTY) volt_monitor_close_(&m);
  volt_monitor_exit_(&m);
}

/* The lock is held. Take the value. Returns VOLT_EAGAIN if it was neither sent nor closed. */
static int oneshot_take(volt_oneshot *o, bool closed, volt_decision_ *decision, void *elem) {
  if (o->state == EMPTY) return closed ? VOLT_ECLOSED : VOLT_EAGAIN;
  if (o->state == TAKEN) return VOLT_ECLOSED;
  if (!volt_may_take_effect_(decision)) return VOLT_ECANCELED; /* R4 */
  VOLT_COPY_(elem, o->slot, o->elem_bytes);
  o->state = TAKEN;
  return VOLT_OK;
}

static int oneshot_try_recv(volt_oneshot *o, volt_decision_ *decision, void *elem) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  int result = oneshot_take(o, volt_monitor_is_closed_(&m), decision, elem);
  volt_monitor_unlock_(&m);
  return result;
}

int volt_oneshot_try_recv(volt_oneshot *o, void *elem) {
  return oneshot_try_recv(o, NULL, elem);
}

static VOLT_INLINED_ int oneshot_recv(volt_oneshot *o, volt_waiter *w, volt_decision_ *decision,
                                      void *elem, const volt_waker *waker) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  int result = oneshot_take(o, volt_monitor_is_closed_(&m), decision, elem);
  if (result == VOLT_EAGAIN) result = volt_monitor_append_(&m, w, *waker);
  volt_monitor_unlock_(&m);
  return result;
}

int volt_oneshot_recv_waiter(volt_oneshot *o, volt_waiter *w, void *elem, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_ONESHOT_, w);
  return oneshot_recv(o, w, NULL, elem, &waker);
}

bool volt_oneshot_cancel(volt_oneshot *o, volt_waiter *w) {
  return volt_monitor_cancel_(&o->queue, VOLT_KIND_ONESHOT_, w); /* R1 */
}

bool volt_oneshot_is_closed(const volt_oneshot *o) {
  return volt_fifo_is_closed_(&o->queue);
}

bool volt_oneshot_is_empty(const volt_oneshot *o) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, volt_fifo_to_inspect_(&o->queue), VOLT_KIND_ONESHOT_);
  bool empty = o->state != FULL;
  volt_monitor_unlock_(&m);
  return empty;
}

uint32_t volt_oneshot_waiters(const volt_oneshot *o) {
  return volt_fifo_count_(&o->queue);
}

/* ---- futures ---- */

static volt_oneshot *oneshot_of(volt_future *f) {
  return volt_container_of(f->object, volt_oneshot, queue);
}

/* Where the value goes. */
static void *oneshot_elem_of(const volt_future *f) {
  return f->waiter.data;
}

static VOLT_INLINED_ int oneshot_recv_begin(volt_future *f, const volt_waker *waker) {
  return oneshot_recv(oneshot_of(f), &f->waiter, f->decision, oneshot_elem_of(f), waker);
}

static int oneshot_recv_start(volt_future *f, volt_waker waker) {
  return oneshot_recv_begin(f, &waker);
}

static int oneshot_recv_outcome(volt_future *f) {
  return oneshot_try_recv(oneshot_of(f), f->decision, oneshot_elem_of(f));
}

static void oneshot_recv_give_back(volt_future *f) {
  if (volt_future_state_(f) != VOLT_FUTURE_READY_) return; /* R1: granted, and took nothing */
  volt_oneshot *o = oneshot_of(f);
  volt_monitor_ m;
  volt_monitor_lock_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  VOLT_ASSERT(o->state == TAKEN);
  o->state = FULL; /* R3 */
  volt_monitor_unlock_(&m);
}

static int oneshot_recv_poll_ctx(volt_future *f, volt_ctx *ctx);

static const volt_future_ops_ oneshot_recv_ops = {.operation = "volt_oneshot_recv",
                                                  .kind = VOLT_KIND_ONESHOT_,
                                                  .start = oneshot_recv_start,
                                                  .cancel = volt_monitor_future_cancel_,
                                                  .set_waker = volt_monitor_future_set_waker_,
                                                  .give_back = oneshot_recv_give_back,
                                                  .outcome = oneshot_recv_outcome,
                                                  .due = volt_monitor_future_complete_counted_,
                                                  .poll_ctx = oneshot_recv_poll_ctx,
                                                  .describe = volt_monitor_future_describe_};

static int oneshot_recv_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &oneshot_recv_ops, oneshot_recv_begin);
}

volt_future *volt_oneshot_recv_future(volt_future *f, volt_oneshot *o, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &oneshot_recv_ops, &o->queue, 0);
}

static VOLT_NOINLINE int oneshot_block(volt_oneshot *o, void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_oneshot_recv_future(&f, o, elem), deadline_ns);
}

/* Whether the value was sent, or the oneshot closed: each counts in the word. False: a hint. */
static bool oneshot_is_over(const volt_oneshot *o) {
  return VOLT_WORD_VALUE_(volt_load_relaxed(&o->queue.word)) != 0;
}

extern inline int volt_oneshot_recv(volt_oneshot *, void *);

int volt_oneshot_recv_until(volt_oneshot *o, void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_oneshot_recv_until", deadline_ns);
  if (!oneshot_is_over(o)) return oneshot_block(o, elem, deadline_ns);
  return oneshot_try_recv(o, NULL, elem);
}

static int oneshot_closed_start(volt_future *f, volt_waker waker) {
  volt_oneshot *o = oneshot_of(f);
  volt_monitor_ m;
  volt_monitor_lock_(&m, &o->queue, VOLT_KIND_ONESHOT_);
  int result = VOLT_OK;
  if (volt_monitor_is_closed_(&m)) {
    result = VOLT_ECLOSED;
  } else if (o->state == EMPTY) {
    result = volt_monitor_append_(&m, &f->waiter, waker);
  }
  volt_monitor_unlock_(&m);
  return result;
}

static const volt_future_ops_ oneshot_closed_ops = {.operation = "volt_oneshot_closed",
                                                    .kind = VOLT_KIND_ONESHOT_,
                                                    .start = oneshot_closed_start,
                                                    .cancel = volt_monitor_future_cancel_,
                                                    .set_waker = volt_monitor_future_set_waker_,
                                                    .give_back = volt_future_took_nothing_,
                                                    .due = volt_monitor_future_complete_counted_,
                                                    .poll_ctx = volt_future_poll_leaf_any_,
                                                    .describe = volt_monitor_future_describe_};

volt_future *volt_oneshot_closed_future(volt_future *f, volt_oneshot *o) {
  return volt_future_make_(f, &oneshot_closed_ops, &o->queue, 0);
}

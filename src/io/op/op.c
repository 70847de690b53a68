/* op.c: a poll of an operation, and a cancel: how it is done by calls that do not wait.
 *
 * Algorithm of CALL: the poller makes the call, if the descriptor may be ready. If the call says
 * EAGAIN, the operation queues in the descriptor, and the back end watches that from the first time
 * on. A report wakes the poller, which calls again. Between the report and the call, the operation
 * stays in the list, WOKEN.
 *
 * In a select (ctx->decision) an operation with an effect takes the decision when it is done. If
 * another thread may take it, too (shared), the poller first asks whether the descriptor is ready,
 * then takes the decision, then calls; if the operation is not done after that, such as a send that
 * has moved a part, the select is decided anew. Else it calls first, because then only this thread
 * can take the decision.
 *
 * Invariant
 *   I5  volt_future_drop_() of an operation is not NULL only while a registration of its poller is
 *       not consumed: until its waiter is claimed. It is set to NULL when the owner sees the grant.
 *
 * Labels: io */
#include <errno.h>

#include "../../core/os/probe.h"
#include "../../core/park/blocker.h"
#include "../../core/park/spin.h"
#include "../../rt/host/driver.h"
#include "../sys/sys.h"
#include "fd.h"
#include "op.h"

/* How many calls in one poll: others are to run, too. */
enum { OP_CALLS = 16 };

static volt_waiter *op_waiter(volt_op *op) {
  return &op->as.future.waiter;
}

static void op_drop_waker(volt_op *op, void *ctx) {
  volt_wake_fn drop = volt_future_drop_(&op->as.future);
  volt_future_set_drop_(&op->as.future, NULL);
  if (drop) drop(ctx);
}

/* The waiter is claimed, or was never armed: wait for the grant. */
static void op_await_grant(volt_op *op) {
  (void)volt_waiter_await_(op_waiter(op));
  volt_future_set_drop_(&op->as.future, NULL); /* I5 */
}

bool volt_op_suspends_(volt_io_ *io) {
  return volt_fiber_blocker_() &&
         (volt_rt_worker_here_(io->rt) >= 0 || !volt_rt_is_by_hand_(io->rt));
}

void volt_op_await_(volt_op *op, volt_io_ *io) {
  volt_rt *rt = io->rt;
  int here = volt_rt_worker_here_(rt);
  if (volt_op_suspends_(io)) {
    volt_future_await_end_(&op->as.future);
    return;
  }
  if (here < 0 && !volt_rt_is_by_hand_(rt)) {
    (void)volt_waiter_await_(op_waiter(op));
    return;
  }
  volt_driver_ *driver = &io->driver;
  unsigned spins = 0;
  while (volt_waiter_result(op_waiter(op)) == VOLT_PENDING) {
    /* what it waits for may be in this worker's share, or in that of another worker, which waits
     * here for one in this worker's; by hand it may be that no thread runs the runtime */
    bool any = here < 0 ? volt_rt_check_by_hand_(rt) : driver->ops->check(driver, (unsigned)here);
    if (!any) volt_pause_(&spins);
  }
}

/* ---- the end of a poll. The lock is held, and these unlock ---- */

/* It is done. is_new: it is not in the list. Returns result. */
static int op_end(volt_op *op, bool is_new, int result) {
  volt_fd *d = op->fd;
  volt_claims_ claims;
  claims.count = 0;
  if (is_new) {
    d->calls -= 1;
  } else {
    volt_op_unlink_from_(d, op->prev, op->next);
  }
  op->result = result;
  volt_op_set_stage_(op, VOLT_OP_OVER_);
  volt_op_leave_(op, &claims);
  volt_short_lock_unlock_(&d->lock);
  volt_claims_grant_(&claims);
  return result;
}

static void op_link_if_new(volt_op *op, bool is_new) {
  if (!is_new) return;
  volt_op_link_(op);
  op->fd->calls -= 1;
}

/* It waits for readiness. */
static int op_wait(volt_op *op, bool is_new, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  op_link_if_new(op, is_new);
  volt_waiter_arm_(op_waiter(op), op, ctx->waker);
  VOLT_PROBE_ARMED(wait__begin, op_waiter(op));
  volt_op_set_stage_(op, VOLT_OP_WAITING_);
  volt_short_lock_unlock_(&d->lock);
  volt_count_from_outside_(VOLT_KIND_IO_, VOLT_COUNTER_WAITS_, 1);
  return volt_leaf_registered_(&op->as.future, ctx);
}

/* Its owner polls again without a wake from here. */
static int op_rest(volt_op *op, bool is_new) {
  volt_fd *d = op->fd;
  op_link_if_new(op, is_new);
  volt_op_set_stage_(op, VOLT_OP_WOKEN_);
  volt_short_lock_unlock_(&d->lock);
  return VOLT_PENDING;
}

int volt_op_wait_on_(volt_op *op, volt_ctx *ctx) {
  volt_waiter *w = op_waiter(op);
  void *before = w->ctx;
  w->wake = ctx->waker.wake;
  w->ctx = ctx->waker.ctx;
  volt_op_set_stage_(op, (uint8_t)volt_op_stage_(op));
  volt_short_lock_unlock_(&op->fd->lock);
  op_drop_waker(op, before);
  return volt_leaf_registered_(&op->as.future, ctx);
}

/* Its owner holds it, and finds that the descriptor is being closed, or that the back end has ended
 * it. Returns its result. */
static int op_end_held(volt_op *op, int result) {
  volt_claims_ claims;
  claims.count = 0;
  if (volt_op_stage_(op) == VOLT_OP_WAITING_) volt_claims_add_(&claims, op_waiter(op));
  (void)op_end(op, false, result);
  volt_claims_grant_(&claims); /* its waker is called, as for every other that waits */
  op_await_grant(op);
  return result;
}

int volt_op_end_over_(volt_op *op) {
  return op_end_held(op, op->result);
}

/* ---- select ---- */

static bool op_has_effect(const volt_op *op) {
  return op->kind != VOLT_OP_READY_ && op->kind != VOLT_OP_CONNECT_;
}

enum op_gate { OP_GO, OP_NOT_READY, OP_HAS_LOST };

/* Whether op may be called. */
static enum op_gate op_pass_gate(volt_op *op, volt_decision_ *decision) {
  if (!decision || !decision->shared || decision->mine || !op_has_effect(op)) return OP_GO;
  if (!volt_op_is_possible_(op)) return OP_NOT_READY;
  return volt_may_take_effect_(decision) ? OP_GO : OP_HAS_LOST;
}

/* It is done. */
static void op_take_decision(volt_op *op, volt_decision_ *decision) {
  if (!decision || !op_has_effect(op)) return;
  (void)volt_may_take_effect_(decision); /* not shared, or it has it already */
  op->as.future.decision = decision;
}

/* ---- calls ---- */

/* What the calls of one poll know. */
typedef struct op_round {
  volt_ctx *ctx;
  uint32_t seen; /* d->reports, before the call */
  unsigned calls;
  bool is_new; /* counted in d->calls, and not in the list */
  bool may_call;
} op_round;

/* The call has returned got, if it was made. Returns the result of the poll; VOLT_EAGAIN: call
 * again. */
static int op_called(volt_op *op, op_round *round, ssize_t got, bool is_done, int result) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  bool is_blocked = volt_op_was_short_(op, got);
  if (is_blocked && d->reports == round->seen) d->ready &= ~volt_op_bits_(op); /* fd.c R3 */
  if (is_done) return op_end(op, round->is_new, result);
  if (is_blocked && d->reports == round->seen) {
    result = volt_op_watch_(op, round->may_call);
    if (result == VOLT_EAGAIN) round->calls = OP_CALLS; /* others run first */
    if (result != VOLT_OK && result != VOLT_EAGAIN) return op_end(op, round->is_new, result);
  }
  if (d->is_closing) return op_end(op, round->is_new, VOLT_ECLOSED);
  bool is_reported = result == VOLT_EAGAIN || d->reports != round->seen; /* fd.c R2 */
  if (is_blocked && !is_reported) {
    return op_wait(op, round->is_new, round->ctx);
  }
  if (round->calls >= OP_CALLS) {
    round->ctx->yield = true;
    return op_rest(op, round->is_new);
  }
  round->seen = d->reports;
  volt_short_lock_unlock_(&d->lock);
  return VOLT_EAGAIN;
}

static int op_lose(volt_op *op, const op_round *round) {
  volt_short_lock_lock_(&op->fd->lock);
  if (op->fd->is_closing) return op_end(op, round->is_new, VOLT_ECLOSED);
  return op_rest(op, round->is_new); /* the branch that has the decision wakes the poller */
}

static int op_make_calls(volt_op *op, op_round *round) {
  for (;;) {
    ssize_t got = -EAGAIN;
    int result = VOLT_PENDING;
    bool is_done = false;
    if (round->may_call) {
      enum op_gate gate = op_pass_gate(op, round->ctx->decision);
      if (gate == OP_HAS_LOST) return op_lose(op, round);
      if (gate == OP_GO) got = volt_op_call_(op);
    }
    round->calls += 1;
    if (got != -EAGAIN) is_done = volt_op_take_(op, got, &result);
    if (is_done) op_take_decision(op, round->ctx->decision);
    result = op_called(op, round, got, is_done, result);
    if (result == VOLT_PENDING) volt_decide_again_(round->ctx->decision);
    if (result != VOLT_EAGAIN) return result;
    round->may_call = true;
  }
}

static int op_begin_calls(volt_op *op, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  int result = volt_op_enter_(op);
  if (result != VOLT_OK) {
    volt_short_lock_unlock_(&d->lock);
    return result;
  }
  d->calls += 1;
  op_round round = {.ctx = ctx, .seen = d->reports, .is_new = true};
  round.may_call = op->kind == VOLT_OP_CONNECT_ || (d->ready & volt_op_events_(op)) != 0;
  if (!round.may_call && d->watched) return op_wait(op, true, ctx);
  volt_short_lock_unlock_(&d->lock);
  return op_make_calls(op, &round);
}

/* Its owner holds it. */
static int op_go_on_held(volt_op *op, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  if (d->is_closing) return op_end_held(op, VOLT_ECLOSED);
  if (volt_op_stage_(op) == VOLT_OP_WAITING_) return volt_op_wait_on_(op, ctx);
  op->mode = VOLT_OP_CALL_; /* it may have been WHOLE */
  if (op->kind == VOLT_OP_READY_ && op->n) return op_end_held(op, VOLT_OK);
  op_round round = {.ctx = ctx, .seen = d->reports, .may_call = true};
  volt_short_lock_unlock_(&d->lock);
  op_await_grant(op);
  return op_make_calls(op, &round);
}

bool volt_op_has_waker_(volt_op *op, const volt_ctx *ctx) {
  const volt_waiter *w = op_waiter(op);
  return w->wake == ctx->waker.wake && w->ctx == ctx->waker.ctx;
}

int volt_op_go_on_(volt_op *op, volt_ctx *ctx) {
  if (volt_op_hold_(op)) return op_go_on_held(op, ctx);
  op_await_grant(op);
  return op->result;
}

/* ---- poll ---- */

bool volt_op_needs_pool_(const volt_op *op) {
  switch (op->kind) {
    case VOLT_OP_OPEN_:
    case VOLT_OP_SYNC_: return true;
    case VOLT_OP_READ_:
    case VOLT_OP_READV_:
    case VOLT_OP_WRITE_:
    case VOLT_OP_WRITEV_: return op->fd->kind == VOLT_FD_FILE_;
    default: return false;
  }
}

/* Whether the back end does all of it. Returns the worker that submits it, or -1. On another thread it
 * looks at no back end: the descriptor may just be closed there, and its runtime end (watched.c
 * R13). */
static int op_whole_on(volt_op *op, const volt_ctx *ctx) {
  int worker = ctx->decision ? -1 : volt_rt_worker_here_(op->fd->rt);
  if (worker < 0) return -1;
  volt_io_ *io = op->fd->io;
  return io->ops->does_whole && io->ops->does_whole(io, op) ? worker : -1;
}

static int op_begin(volt_op *op, volt_ctx *ctx) {
  if (op->result != VOLT_PENDING) return op->result; /* the constructor knows it */
  if (!op->fd->io) return VOLT_ECLOSED;              /* all-zero */
  if (op->kind == VOLT_OP_SENDFILE_ && volt_fd_number(op->other) < 0) return VOLT_ECLOSED;
  int worker = op_whole_on(op, ctx);
  if (worker >= 0) return volt_op_begin_whole_(op, ctx, (unsigned)worker);
  if (volt_op_needs_pool_(op)) return volt_op_begin_pool_(op, ctx);
  op->mode = VOLT_OP_CALL_;
  return op_begin_calls(op, ctx);
}

int volt_op_obey_(volt_op *op, volt_ctx *ctx) {
  volt_future_cancel(&op->as.future);
  int result = volt_future_result_(&op->as.future);
  if (result == VOLT_ECANCELED) volt_ctx_obeyed_(ctx);
  return result;
}

static int op_poll(volt_future *f, volt_ctx *ctx) {
  volt_op *op = volt_op_of_(f);
  bool has_begun = volt_future_is_waiting_(f);
  bool is_whole = has_begun && op->mode == VOLT_OP_WHOLE_;
  if (ctx->cancel == VOLT_CTX_CANCEL_ALL || (ctx->cancel != VOLT_CTX_GO_ON && !is_whole)) {
    return volt_op_obey_(op, ctx);
  }
  if (!has_begun) return op_begin(op, ctx);
  if (is_whole) return volt_op_poll_whole_(op, ctx);
  bool is_waiting = volt_waiter_result(op_waiter(op)) == VOLT_PENDING;
  if (is_waiting && volt_op_has_waker_(op, ctx)) return VOLT_PENDING;
  return volt_op_go_on_(op, ctx);
}

/* ---- cancel ---- */

/* What was not done yet ends at once. Returns true. */
static bool op_cancel_held(volt_op *op) {
  volt_short_lock_lock_(&op->fd->lock);
  bool was_waiting = volt_op_stage_(op) == VOLT_OP_WAITING_;
  if (op->kind == VOLT_OP_READY_) op->n = 0;
  (void)op_end(op, false, VOLT_ECANCELED);
  if (was_waiting) {
    volt_store_relaxed(&op_waiter(op)->state, VOLT_WAITER_UNUSED_); /* the owner's own again */
    volt_count_from_outside_(VOLT_KIND_IO_, VOLT_COUNTER_CANCELS_, 1);
  } else {
    op_await_grant(op);
  }
  return true;
}

static bool op_cancel(volt_future *f) {
  volt_op *op = volt_op_of_(f);
  if (op->mode == VOLT_OP_WHOLE_) volt_op_cancel_whole_(op);
  if (volt_op_hold_(op)) return op_cancel_held(op);
  op_await_grant(op);
  return op->result == VOLT_ECANCELED;
}

/* Of CALL and of WHOLE. */
static bool op_set_waker(volt_future *f, volt_waker waker) {
  volt_op *op = volt_op_of_(f);
  volt_waiter *w = op_waiter(op);
  if (volt_op_hold_(op)) {
    volt_fd *d = op->fd;
    volt_short_lock_lock_(&d->lock);
    unsigned stage = volt_op_stage_(op);
    if (stage == VOLT_OP_OVER_) {
      (void)volt_op_end_over_(op);
      return false;
    }
    if (d->is_closing && (op->mode == VOLT_OP_CALL_ || stage == VOLT_OP_WOKEN_)) {
      (void)op_end_held(op, VOLT_ECLOSED);
      return false;
    }
    bool is_waiting = stage != VOLT_OP_WOKEN_;
    if (is_waiting) {
      w->wake = waker.wake;
      w->ctx = waker.ctx;
    }
    volt_op_set_stage_(op, (uint8_t)stage);
    volt_short_lock_unlock_(&d->lock);
    if (is_waiting) return true;
  }
  op_await_grant(op);
  return false;
}

static int op_outcome(volt_future *f) {
  return volt_op_of_(f)->result;
}

/* Close what was accepted or opened. */
static void op_give_back(volt_future *f) {
  volt_op *op = volt_op_of_(f);
  if (op->result == VOLT_OK) volt_fd_close(op->other);
}

static void op_forget(volt_future *f) {
  volt_op_of_(f)->n = 0;
}

void volt_op_describe_(volt_future *f, volt_description_ *description) {
  volt_op *op = volt_op_of_(f);
  description->object = op->fd;
  if (description->is_granted || volt_op_number_(op) < 0) return;
  const char *where = op->mode == VOLT_OP_POOL_ ? " on the blocking pool" : "";
  volt_describe_state_(description, "%d%s", volt_op_number_(op), where);
}

#define OP_TABLE(operation_, give_back_)                                               \
  {                                                                                    \
    .operation = (operation_), .kind = VOLT_KIND_IO_, .cancel = op_cancel,             \
    .set_waker = op_set_waker, .give_back = (give_back_), .outcome = op_outcome,       \
    .poll_ctx = volt_future_poll_any_, .poll = op_poll, .describe = volt_op_describe_, \
    .ends_itself = true                                                                \
  }

/* What was moved stands. */
static const volt_future_ops_ op_tables[] = {
    [VOLT_OP_RECV_] = OP_TABLE("volt_fd_recv", NULL),
    [VOLT_OP_SEND_] = OP_TABLE("volt_fd_send", NULL),
    [VOLT_OP_RECVMSG_] = OP_TABLE("volt_fd_recvmsg", NULL),
    [VOLT_OP_SENDMSG_] = OP_TABLE("volt_fd_sendmsg", NULL),
    [VOLT_OP_CONNECT_] = OP_TABLE("volt_fd_connect", op_forget),
    [VOLT_OP_ACCEPT_] = OP_TABLE("volt_fd_accept", op_give_back),
    [VOLT_OP_READY_] = OP_TABLE("volt_fd_ready", op_forget),
    [VOLT_OP_SENDFILE_] = OP_TABLE("volt_fd_sendfile", NULL),
    [VOLT_OP_READ_] = OP_TABLE("volt_fd_read", NULL),
    [VOLT_OP_WRITE_] = OP_TABLE("volt_fd_write", NULL),
    [VOLT_OP_READV_] = OP_TABLE("volt_fd_readv", NULL),
    [VOLT_OP_WRITEV_] = OP_TABLE("volt_fd_writev", NULL),
    [VOLT_OP_SYNC_] = OP_TABLE("volt_fd_sync", NULL),
    [VOLT_OP_OPEN_] = OP_TABLE("volt_open", op_give_back),
    [VOLT_OP_CLOSE_] = OP_TABLE("volt_fd_close", NULL), /* close.c has its own */
};

volt_future *volt_op_make_(volt_op *op, volt_fd *d, unsigned kind, void *memory, size_t size,
                           int64_t at) {
  op->n = 0;
  op->fd = d;
  op->other = NULL;
  op->memory = memory;
  op->size = size;
  op->at = at;
  op->next = NULL;
  op->prev = NULL;
  op->mail = NULL;
  op->flags = 0;
  op->result = VOLT_PENDING;
  op->is_asked = 0;
  op->ends_due = 0;
  volt_store_relaxed(&op->stage, VOLT_OP_NEW_); /* not shared yet */
  op->kind = (uint8_t)kind;
  op->mode = 0;
  op->step = 0;
  op->home = 0;
  volt_future *f = volt_future_make_(&op->as.future, &op_tables[kind], NULL, 0);
  volt_op_note_number_(op, -1);
  return f;
}

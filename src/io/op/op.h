/* op.h: an operation, which op.c, call.c, whole.c and offload.c drive: how it goes through the I/O of a
 * runtime, and its place in the list of its descriptor.
 *
 * An operation is done in one of three ways (volt_op.mode), which its first poll chooses:
 *   CALL   The poller makes the system call, which does not wait. If it says EAGAIN, the operation
 *          waits in the list of its descriptor until the back end reports that this is ready; the
 *          poller that this wakes makes the call again. The system never has the buffer. So a
 *          cancel takes effect at once, and in a select one branch alone has an effect. With epoll
 *          and in simulation all operations on sockets and pipes go this way; with io_uring those
 *          in a select, and those of a thread that is no worker.
 *   WHOLE  The back end does it all and reports the result. Only a worker submits, to its own share
 *          of the back end (volt_op.home). The system has the buffer until the report. So a cancel
 *          is asked for, and the operation ends with one more report, that of the cancel.
 *   POOL   A thread of the blocking pool makes the call: regular files, where the back end cannot.
 *
 * What changes while an operation is under way is under the lock of its descriptor: the list
 * volt_fd.waiting, and result, is_asked, ends_due of each operation in it. The lock is held for a
 * few dozen instructions, and no waker is called under it.
 *
 *   stage      CALL                                      WHOLE
 *   NEW        not in the list. If it is polled, that    the same
 *              poll is counted in volt_fd.calls
 *   WAITING    in the list, for readiness                in the list, submitted
 *   WOKEN      in the list, waiter granted or claimed:   -
 *              its poller will call again
 *   ENDED      -                                         in the list; result stands, and the
 *                                                        report of a cancel is due
 *   OVER       out of the list; result stands; its       the same
 *              waiter is granted or claimed
 * HELD is added while its owner is inside a poll or a cancel of it that may use the descriptor. An
 * operation that is HELD stays in the list until its owner has the lock, so a thread that closes
 * the descriptor cannot free it meanwhile (R1).
 *
 * All changes of stage are made under the lock of the descriptor, but for HELD, which the owner of
 * the operation sets before it takes the lock.
 *
 * Invariants, under the lock of the descriptor d
 *   I1  An operation is in d->waiting from the time that its poll first has to wait until it is
 *       OVER. If it is HELD then, it stays there until its owner has the lock.
 *   I2  A poll that begins an operation is counted in d->calls until it has ended or is in the
 *       list. So is a call on the blocking pool, until it has returned.
 *   I3  The waiter of a WAITING operation is armed. The thread that makes it WOKEN or OVER claims
 *       the waiter in the same hold of the lock, and grants it afterwards.
 *   I4  d->closer is granted when is_closing is set, the list is empty and calls is 0. That grant
 *       is the last that any thread but the closer's does for d.
 *
 * Races
 *   R1  Interleaving: a thread polls an operation with a new waker; another thread closes the
 *       descriptor, which ends the operation, and frees *d; the first one takes the lock of d.
 *       Prevented by: HELD, one read-modify-write of stage before the lock. If it finds OVER, the
 *       owner does not touch d, because the result is in the operation. Else the operation stays in
 *       the list until the owner has had the lock, so the closer waits (I4).
 *
 * Labels: io */
#ifndef VOLT_IO_OP_OP_H
#define VOLT_IO_OP_OP_H

#include "../../core/future/future_ops.h"
#include "../../core/future/leaf.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../../core/wait/grant.h"
#include "../../rt/sched/short_lock.h"
#include "backend.h"

/* volt_op.stage */
enum {
  VOLT_OP_NEW_ = 0,
  VOLT_OP_WAITING_ = 2,
  VOLT_OP_WOKEN_ = VOLT_OP_WAITING_ | 1, /* so that a thread makes it that by one OR, HELD or not */
  VOLT_OP_ENDED_ = 4,
  VOLT_OP_OVER_ = 8,
  VOLT_OP_HELD_ = 16 /* beside one of them */
};
enum { VOLT_OP_CALL_ = 1, VOLT_OP_WHOLE_, VOLT_OP_POOL_ }; /* volt_op.mode; 0: not chosen yet */

/* volt_op.kind */
enum {
  VOLT_OP_RECV_,
  VOLT_OP_SEND_,
  VOLT_OP_RECVMSG_,
  VOLT_OP_SENDMSG_,
  VOLT_OP_CONNECT_,
  VOLT_OP_ACCEPT_,
  VOLT_OP_READY_,
  VOLT_OP_SENDFILE_,
  VOLT_OP_READ_,
  VOLT_OP_WRITE_,
  VOLT_OP_READV_,
  VOLT_OP_WRITEV_,
  VOLT_OP_SYNC_,
  VOLT_OP_OPEN_,
  VOLT_OP_CLOSE_
};

/* Why it was asked to end: volt_op.is_asked. */
enum { VOLT_OP_CANCEL_ = 1, VOLT_OP_GO_BY_CALL_ = 2, VOLT_OP_CLOSED_ = 4 };

/* The waiters that were claimed in one hold of a lock. */
#ifndef VOLT_IO_BATCH
#define VOLT_IO_BATCH 15
#endif
typedef struct volt_claims_ {
  unsigned count;
  volt_claimed_ claimed[VOLT_IO_BATCH + 1]; /* the last place is for a closer */
} volt_claims_;

static inline void volt_claims_add_(volt_claims_ *claims, volt_waiter *w) {
  claims->claimed[claims->count++] = volt_waiter_claim_(w);
}

static inline void volt_claims_grant_(const volt_claims_ *claims) {
  if (claims->count == 0) return;
  volt_count_from_outside_(VOLT_KIND_IO_, VOLT_COUNTER_GRANTS_, claims->count);
  volt_waiters_grant_(claims->claimed, claims->count, VOLT_WAITER_GRANTED_);
}

static inline volt_op *volt_op_of_(volt_future *f) {
  return volt_container_of(f, volt_op, as.future);
}

/* The kinds of operations that receive, and those that send: a bit for each. */
enum {
  VOLT_OPS_RECEIVE_ = 1 << VOLT_OP_RECV_ | 1 << VOLT_OP_RECVMSG_ | 1 << VOLT_OP_ACCEPT_ |
                      1 << VOLT_OP_READ_ | 1 << VOLT_OP_READV_,
  VOLT_OPS_SEND_ = 1 << VOLT_OP_SEND_ | 1 << VOLT_OP_SENDMSG_ | 1 << VOLT_OP_CONNECT_ |
                   1 << VOLT_OP_SENDFILE_ | 1 << VOLT_OP_WRITE_ | 1 << VOLT_OP_WRITEV_
};

static inline bool volt_op_is_of_(const volt_op *op, unsigned kinds) {
  return kinds >> op->kind & 1;
}

/* Which of d's two places op needs; NULL: none. */
static inline VOLT_PLAIN(volt_op *) *volt_op_place_(volt_op *op) {
  volt_fd *d = op->fd;
  if (d->kind == VOLT_FD_FILE_) return NULL;
  if (volt_op_is_of_(op, VOLT_OPS_RECEIVE_)) return &d->receiver;
  return volt_op_is_of_(op, VOLT_OPS_SEND_) ? &d->sender : NULL;
}

/* ---- stage ---- */

/* The owner is about to use op->fd. Returns false: it must not, because the operation is OVER. Then
 * the waiter is granted, or is about to be. */
static inline bool volt_op_hold_(volt_op *op) {
  /* io:H1 <- io:O1: the owner sees the result */
  unsigned before = volt_fetch_or_acquire(&op->stage, VOLT_OP_HELD_);
  return (before & ~(unsigned)VOLT_OP_HELD_) != VOLT_OP_OVER_; /* it may have asked before */
}

/* Under the lock: what stage is, without HELD. */
static inline unsigned volt_op_stage_(const volt_op *op) {
  return volt_load_relaxed(&op->stage) & ~(unsigned)VOLT_OP_HELD_; /* under the lock */
}

/* The owner, which holds the operation and the lock, sets its stage, without HELD. */
static inline void volt_op_set_stage_(volt_op *op, uint8_t stage) {
  volt_store_relaxed(&op->stage, stage); /* published by the unlock */
}

/* The number of the descriptor, since the operation waits, for inspectors: *fd may be gone when the
 * operation is granted. -1: not known. It is kept as the argument of the future, which has no other
 * use here. What makes that future anew notes the number again. */
static inline int volt_op_number_(const volt_op *op) {
  return (int)volt_future_n_(&op->as.future);
}
static inline void volt_op_note_number_(volt_op *op, int number) {
  volt_future_set_n_(&op->as.future, (uint32_t)number);
}

/* ---- the list, under the lock ---- */

/* An operation in the list of d that belongs elsewhere, or that is new, was made anew though it
 * waits. */
static inline void volt_op_check_listed_(const volt_op *op, const volt_fd *d) {
  VOLT_CHECK(op->fd == d && volt_op_stage_(op) != VOLT_OP_NEW_, "volt_fd",
             "%p (descriptor %d): operation %p was given to a constructor while it waits here",
             (const void *)d, d->number, (const void *)op);
}

static inline void volt_op_link_(volt_op *op) {
  volt_fd *d = op->fd;
  volt_op *first = d->waiting;
  if (first) volt_op_check_listed_(first, d);
  op->prev = NULL;
  op->next = first;
  if (first) first->prev = op;
  d->waiting = op;
  volt_op_note_number_(op, d->number);
}

static inline void volt_op_unlink_from_(volt_fd *d, volt_op *prev, volt_op *next) {
  if (prev) {
    prev->next = next;
  } else {
    d->waiting = next;
  }
  if (next) next->prev = prev;
}

/* ---- op.c ---- */

/* Every constructor: op is an operation of that kind on d. */
volt_future *volt_op_make_(volt_op *op, volt_fd *d, unsigned kind, void *memory, size_t size,
                           int64_t at);

/* Whether this thread waits for an operation of io by suspending its fiber, and looks at nothing of
 * io meanwhile. */
bool volt_op_suspends_(volt_io_ *io);

/* Wait until the waiter of op is granted, on any thread, without a poll. io lives meanwhile, unless
 * this suspends a fiber. */
void volt_op_await_(volt_op *op, volt_io_ *io);

/* describe() of every operation. It does not read *op->fd: R1. */
void volt_op_describe_(volt_future *f, volt_description_ *description);

/* Set the waker of a WAITING operation to that of ctx. The caller holds it and has the lock, which
 * this unlocks; it holds op no more. Returns VOLT_PENDING. */
int volt_op_wait_on_(volt_op *op, volt_ctx *ctx);

/* Whether the waker of ctx is the one it waits with. */
bool volt_op_has_waker_(volt_op *op, const volt_ctx *ctx);

/* The lock is held, and this unlocks; the caller holds op, which the back end has made OVER
 * meanwhile. Returns its result. */
int volt_op_end_over_(volt_op *op);

/* Cancel it, because ctx->cancel says so. Returns the result of the poll. */
int volt_op_obey_(volt_op *op, volt_ctx *ctx);

/* Whether its call may have to wait where nothing reports readiness, as for a disk. */
bool volt_op_needs_pool_(const volt_op *op);

/* Poll an operation that may be WOKEN, by calls. Returns the result of the poll. */
int volt_op_go_on_(volt_op *op, volt_ctx *ctx);

/* ---- call.c ---- */

/* One system call of op, which does not wait. Returns the number of bytes or 0, or a negative
 * errno; -EAGAIN: it has to wait. */
ssize_t volt_op_call_(volt_op *op);

/* For which events op has to wait after -EAGAIN. */
uint32_t volt_op_events_(const volt_op *op);

/* Which bits of volt_fd.ready a call clears that has said EAGAIN. */
static inline uint32_t volt_op_bits_(const volt_op *op) {
  return volt_op_events_(op) & (POLLIN | POLLOUT);
}

/* Prepare the number that open() has returned for op. Returns it, or a negative errno: then it is
 * closed. */
int volt_op_opened_(volt_op *op, int number, int *kind);

/* Whether the descriptor is ready for op, as poll() says. */
bool volt_op_is_possible_(const volt_op *op);

/* The call has returned got, which is not -EAGAIN: note what it has done. *result: that of op, if
 * it is done. Returns whether it is. */
bool volt_op_take_(volt_op *op, ssize_t got, int *result);

/* Under the lock: whether what the call has returned says that another call would say EAGAIN. */
bool volt_op_was_short_(const volt_op *op, ssize_t got);

/* ---- whole.c ---- */

/* The back end has done op (WHOLE): result is what the system call returns, or a negative errno. On
 * the worker op->home. If a part is left to do, or if the system has ended it although no thread
 * has asked, it is submitted again. Else it is OVER, and its owner is woken, unless the report of a
 * cancel is to come. */
void volt_op_ended_(volt_op *op, int result);

/* The back end: the cancel of op has ended, whatever it did. On the worker op->home. If op is OVER,
 * its owner is woken. */
void volt_op_cancel_ended_(volt_op *op);

/* Whether op is OVER, so a cancel need not be submitted. On the worker op->home. */
bool volt_op_is_over_(volt_op *op);

int volt_op_begin_whole_(volt_op *op, volt_ctx *ctx, unsigned worker);
int volt_op_poll_whole_(volt_op *op, volt_ctx *ctx);

/* Ask it to end, and wait until it is granted. */
void volt_op_cancel_whole_(volt_op *op);

/* Under the lock: ask it to end. why: VOLT_OP_CANCEL_, ... . Returns whether the caller has to call
 * the back end's cancel() when it has unlocked. */
bool volt_op_ask_(volt_op *op, unsigned why);

/* ---- offload.c ---- */

/* Go on as a call on the blocking pool. Returns the result of the poll. */
int volt_op_begin_pool_(volt_op *op, volt_ctx *ctx);

#endif

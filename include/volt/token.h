/* token.h: a cancellation token: says, to callers that ask and to waiters, that something must end.
 *
 * Tokens form trees. To cancel a token cancels all tokens that descend from it, and no other. A
 * token is cancelled once, and stays so. Code that works asks volt_token_is_cancelled(), one load,
 * where it can stop conveniently. Code that waits for something else waits for the token, too:
 *
 *   volt_future *either[] = {volt_chan_recv_future(&self->recv, jobs, &self->job),
 *                            volt_token_wait_future(&self->stop, &shutdown)};
 *   VOLT_AWAIT_RESULT(self, r, volt_select_future(&self->select, either, 2, VOLT_SELECT_BIASED));
 *   if (volt_select_winner(&self->select) == 1) ... stop
 *
 *   volt_token_init_child(&request->token, &shutdown);    ends with the shutdown, or alone
 *
 * A token does not say why it was cancelled. Store the reason elsewhere before you cancel it.
 * All-zero is a valid token without a parent. Nothing is ever allocated.
 *
 * Lifetime: a token may end before its children. Then they become children of its parent, and are
 * cancelled with that. If it has no parent, each child becomes a token without a parent. */
#ifndef VOLT_TOKEN_H
#define VOLT_TOKEN_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_token {
  volt_fifo_ queue;                     /* the word's value: 1 once it is cancelled */
  VOLT_PLAIN(struct volt_token *) root; /* of its tree; NULL: the token itself */
  VOLT_PLAIN(struct volt_token *) parent;
  VOLT_PLAIN(struct volt_token *) child; /* the youngest */
  VOLT_PLAIN(struct volt_token *) next;  /* of the same parent, older */
  VOLT_PLAIN(struct volt_token *) prev;
  VOLT_PLAIN(struct volt_token *) next_cancelled; /* in the list of the call that cancels it */
} volt_token;
VOLT_SIZE_AT_MOST_(volt_token, 128);

/* A token without a parent, not cancelled. */
#define VOLT_TOKEN_INIT \
  { VOLT_FIFO_INIT_(0), NULL, NULL, NULL, NULL, NULL, NULL }

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *t a token without a parent, not cancelled. */
VOLT_API void volt_token_init(volt_token *t);

/* Make *t a token that is cancelled with its parent. If the parent is cancelled already, *t begins
 * cancelled. Waits for a thread that is cancelling a token of the same tree at the moment.
 * t: must not be a child of *parent already. This aborts if it is the youngest child of *parent;
 *   in debug builds also if it is one of the 64 youngest.
 * parent: alive; it may end before *t.
 * Threads: any. */
VOLT_API void volt_token_init_child(volt_token *t, volt_token *parent);

/* End its life, cancelled or not. Frees nothing. No waiter may be queued (aborts), and no thread
 * may use *t again. Its children become children of its parent; if it has no parent, each child
 * becomes a token without a parent. That takes a step for each child; if it has no parent, a step
 * for each descendant.
 *   A cancel of *t, or of an ancestor, may still have to wake waiters of *t. Then this waits until
 * it has completed the last of them; so do not call it from a waker that a cancel calls. None of
 * these waiters may be in a cancel_wait, a set_waker, a further poll or the drop of a future, or a
 * wait with a deadline, because these access the token until they return.
 * Threads: any. */
VOLT_API void volt_token_destroy(volt_token *t);

/* ---- cancel ---- */

/* Cancel *t and all tokens that descend from it. When it returns, all of them are cancelled, also
 * if another thread was first. Their waiters have been woken, or that thread is waking them. Takes
 * a step for each token that is not cancelled yet; the depth of the tree costs no stack.
 * Wakes: every waiter of these tokens, once, with nothing held, on this thread. A parent's come
 *   before its children's, and the oldest waiter of each token first. Those after the first 32 of
 *   one token are possibly woken on another thread that uses it meanwhile.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that find one of them cancelled. */
VOLT_API void volt_token_cancel(volt_token *t);

/* Whether it is cancelled. One load.
 * Threads: any. Order: true acquires what the canceller did before. */
VOLT_INLINE bool volt_token_is_cancelled(const volt_token *t) {
  /* token:C1 <- fifo:U1: a thread that sees the flag sees what came before the cancel */
  return VOLT_WORD_VALUE_(volt_load_acquire(&t->queue.word)) != 0;
}

/* ---- wait ---- */

/* Queue *w until the token is cancelled.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (it is cancelled; *w unused), or VOLT_PENDING (queued; it completes with
 *   VOLT_OK).
 * Wakes: waker, exactly once, on the thread that cancels, with nothing held.
 * Cancel: volt_token_cancel_wait().
 * Threads: any. Order: VOLT_OK acquires what the canceller did before. */
VOLT_API VOLT_NODISCARD int volt_token_wait_waiter(volt_token *t, volt_waiter *w, volt_waker waker);

/* Block this thread until the token is cancelled or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_token_wait() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (it is cancelled), or VOLT_ETIMEDOUT (it is not).
 * Threads: any that may block. Order: as volt_token_wait_waiter(). */
VOLT_API int volt_token_wait_until(volt_token *t, uint64_t deadline_ns);
VOLT_INLINE int volt_token_wait(volt_token *t) {
  return volt_token_wait_until(t, VOLT_NO_DEADLINE);
}

/* Waiting as a future, for a select. It is queued when it is first polled.
 * f: not WAITING; its content is overwritten.
 * Returns f. It polls as VOLT_OK once the token is cancelled. */
VOLT_API VOLT_NODISCARD volt_future *volt_token_wait_future(volt_future *f, volt_token *t);

/* Give up waiting. The token itself is not cancelled.
 * w: last passed to volt_token_wait_waiter() on this token (or never used).
 * Returns true: not queued any more, no wake will come. Returns false: too late, the token is
 *   cancelled; the one wake of *w has come or will come. Either way the memory of *w is the
 *   caller's again.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API bool volt_token_cancel_wait(volt_token *t, volt_waiter *w);

/* ---- inspection: snapshots; any thread ---- */

/* How many waiters are queued. */
VOLT_API uint32_t volt_token_waiters(const volt_token *t);

VOLT_END_DECLS
#endif

/* token.h: a cancellation token: tells whoever asks, or waits, that something is to end.
 *
 * Tokens form trees: to cancel one is to cancel all that descend from it, and no other. It happens
 * once, and nothing takes it back. Who works looks at volt_token_is_cancelled(), one load, where it
 * is convenient to stop; who waits for something else waits for the token too:
 *
 *   volt_future *either[] = {volt_chan_recv_future(&self->recv, jobs, &self->job),
 *                            volt_token_future(&self->stop, &shutdown)};
 *   VOLT_AWAIT_RESULT(self, r, volt_select_future(&self->select, either, 2, VOLT_SELECT_BIASED));
 *   if (volt_select_winner(&self->select) == 1) ... stop
 *
 *   volt_token_init_child(&request->token, &shutdown);    ends with the shutdown, or alone
 *
 * A token says only that it was cancelled; why, is said elsewhere, before it is cancelled. All-zero
 * is a valid token without a parent. Nothing is ever allocated.
 *
 * Lifetime: a token may end before its children. They are its parent's then, and are cancelled with
 * that. If it has no parent, each child becomes a token without a parent. */
#ifndef VOLT_TOKEN_H
#define VOLT_TOKEN_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_token {
  volt_fifo_ queue;                     /* the word's value: 1 once it is cancelled */
  VOLT_PLAIN(struct volt_token *) root; /* NULL: it is one */
  VOLT_PLAIN(struct volt_token *) parent;
  VOLT_PLAIN(struct volt_token *) child; /* the youngest */
  VOLT_PLAIN(struct volt_token *) next;  /* of the same parent, older */
  VOLT_PLAIN(struct volt_token *) prev;
  VOLT_PLAIN(struct volt_token *)
      next_cancelled; /* by the same cancel, which has its waiters to complete */
} volt_token;
VOLT_SIZE_AT_MOST_(volt_token, 128);

#define VOLT_TOKEN_INIT \
  { VOLT_FIFO_INIT_(0), NULL, NULL, NULL, NULL, NULL, NULL }

VOLT_BEGIN_DECLS

/* Make *t a token of its own, not cancelled. */
VOLT_API void volt_token_init(volt_token *t);

/* Make *t a token that is cancelled with its parent; if that is so already, it begins cancelled.
 * parent: alive; it may end before *t. Waits for a thread that is cancelling a token of the same
 *   tree just now. A *t that is a child of *parent already must not be initialised again: it aborts
 *   if it is the youngest child, and in debug builds if it is one of the 64 youngest. Threads:
 *   any. */
VOLT_API void volt_token_init_child(volt_token *t, volt_token *parent);

/* End its life; cancelled or not. No waiter may be queued (aborts), nor may it be used again. Frees
 * nothing. Its children become its parent's; if it has no parent, each child becomes a token
 * without a parent. That takes a step for each child; if it has no parent, a step for each
 * descendant. If a cancel of it, or of an ancestor, has still to wake those who waited for it, this
 * waits until that has told the last of them; so not from a waker that a cancel calls. Nor may one
 * of them be in a cancel_wait, a set_waker, a further poll or the drop of a future, or a wait with
 * a deadline: these look at the token until they return. */
VOLT_API void volt_token_destroy(volt_token *t);

/* Cancel *t and all that descend from it. When it returns all of them are cancelled, also if
 * another thread was first; those who waited have been woken, or are being woken by that thread.
 * Takes a step for each token that is not cancelled yet; the depth of the tree costs no stack.
 * Wakes: everybody who waits for one of them, once, on this thread, with nothing held; parents
 *   before their children, the oldest waiter of each first; those beyond the first 32 of one token
 *   possibly on another thread that uses it meanwhile.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to all who
 *   find it cancelled. */
VOLT_API void volt_token_cancel(volt_token *t);

/* Whether it is cancelled. One load. Threads: any. Order: acquires what the canceller did. */
VOLT_INLINE bool volt_token_is_cancelled(const volt_token *t) {
  /* token:C1 <- fifo:U1: who sees the flag sees what came before the cancel */
  return VOLT_WORD_VALUE_(volt_load_acquire(&t->queue.word)) != 0;
}

/* Queue *w until the token is cancelled.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (it is cancelled; *w unused) or VOLT_PENDING (queued; it completes with VOLT_OK).
 * Wakes: waker, exactly once, on the thread that cancels, with nothing held.
 * Cancel: volt_token_cancel_wait(). Threads: any. Order: acquires what the canceller did. */
VOLT_API VOLT_NODISCARD int volt_token_wait(volt_token *t, volt_waiter *w, volt_waker waker);

/* Block this thread until the token is cancelled or deadline_ns (as volt_now_ns()) has passed.
 * Returns VOLT_OK (it is cancelled) or VOLT_ETIMEDOUT. Threads: any that may block. */
VOLT_API int volt_token_wait_blocking(volt_token *t, uint64_t deadline_ns);

/* That it is cancelled, as a future: for a select. Queued when it is first polled.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_token_future(volt_future *f, volt_token *t);

/* Give up waiting.
 * w: last passed to volt_token_wait() on this token (or never used).
 * Returns true: no longer queued, no wake will come. Returns false: too late, the token is
 *   cancelled; its one wake has come or will come. Either way the memory of *w is the caller's.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API bool volt_token_cancel_wait(volt_token *t, volt_waiter *w);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_token_waiters(const volt_token *t);

VOLT_END_DECLS
#endif

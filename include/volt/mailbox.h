/* mailbox.h: an unbounded channel of nodes in their senders' memory, whose receivers can wait.
 *
 * A send links a node and returns: it never waits for a receiver, and fails only if the mailbox is
 * closed. A receiver gets the node itself, first in, first out. Receivers wait in one FIFO, as
 * tasks, as threads, or as waiters of an event loop; a node that is sent while receivers wait goes
 * straight to the oldest of them. There may be any number of senders and of receivers. Nothing is
 * copied and nothing is allocated. Nothing bounds how many nodes are under way: put a volt_sem
 * beside the mailbox for that, or use a volt_chan.
 *
 *   struct job { volt_mailbox_node node; ... };
 *   volt_mailbox jobs = VOLT_MAILBOX_INIT;
 *   if (volt_mailbox_send(&jobs, &job->node) == VOLT_ECLOSED) free(job);          any thread
 *
 *   VOLT_AWAIT(self, volt_mailbox_recv_future(&self->f, &jobs, &self->node));     a task
 *   struct job *job = volt_container_of(self->node, struct job, node);
 *
 * close() ends the sending: from then on a send fails, and its node stays the sender's. Receivers
 * first get what was sent before, then VOLT_ECLOSED.
 *
 * Lifetime: once a node can be received, its send touches neither the mailbox nor the node. So the
 * receiver of the last node may destroy the mailbox while that send is still returning. If there
 * are other receivers, none of them may be in a cancel, a set_waker, a poll or the drop of its
 * future, or in a wait with a deadline then, because these use the mailbox until they return.
 *
 * Progress: a mailbox is a list under a lock that is held for a few instructions. A thread that is
 * descheduled while it holds the lock delays the others: they spin a little, then nap. In exchange
 * a receiver never finds a node that is half sent. (volt/mpsc.h can have one; its push is
 * wait-free.) */
#ifndef VOLT_MAILBOX_H
#define VOLT_MAILBOX_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. Embedded in what is sent; needs no initialisation. */
typedef struct volt_mailbox_node {
  VOLT_PLAIN(struct volt_mailbox_node *) next;
} volt_mailbox_node;
VOLT_SIZE_AT_MOST_(volt_mailbox_node, sizeof(void *));

/* Members are private. */
typedef struct volt_mailbox {
  volt_fifo_ queue; /* of receivers */
  VOLT_PLAIN(volt_mailbox_node *) first;
  VOLT_PLAIN(volt_mailbox_node *) last;
  VOLT_PLAIN(uint64_t) len;
} volt_mailbox;
VOLT_SIZE_AT_MOST_(volt_mailbox, 64);

/* An empty mailbox; all-zero is one, too. */
#define VOLT_MAILBOX_INIT \
  { VOLT_FIFO_INIT_(0), NULL, NULL, 0 }

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *m an empty mailbox. Threads: one, before others use *m. */
VOLT_API void volt_mailbox_init(volt_mailbox *m);

/* End the life of *m; frees nothing. No receiver may be queued (aborts), and no thread may use *m
 * again. Waits for a volt_mailbox_close() in progress if that has more than 32 receivers to
 * complete. So no waker that a close calls may call it.
 * drop(node, ctx): called for each node that is left, oldest first; it may free the node. NULL: no
 *   call; the caller finds the nodes by other means. ctx: passed to drop. */
VOLT_API void volt_mailbox_destroy(volt_mailbox *m,
                                   void (*drop)(volt_mailbox_node *node, void *ctx), void *ctx);

/* ---- send and receive ---- */

/* Send *node: to the oldest receiver that waits, or to the end of the list.
 * node: the caller's memory, in no mailbox; must stay where it is until it is received, and is the
 *   receiver's from then on.
 * Returns VOLT_OK (sent), or VOLT_ECLOSED (not sent; *node stays the caller's).
 * Wakes: the receiver that gets the node, with nothing held; also receivers that a
 *   volt_mailbox_close() in progress has not woken yet.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the receiver of the node. */
VOLT_API VOLT_NODISCARD int volt_mailbox_send(volt_mailbox *m, volt_mailbox_node *node);

/* Receive the oldest node if there is one.
 * node: where to store its address; untouched unless VOLT_OK is returned. The node is the caller's
 *   from then on.
 * Returns VOLT_OK (received), VOLT_EAGAIN (there is no node), or VOLT_ECLOSED (closed, and no node
 *   is left).
 * Threads: any; not from a signal handler. Order: acquires what the node's sender did before. */
VOLT_API VOLT_NODISCARD int volt_mailbox_try_recv(volt_mailbox *m, volt_mailbox_node **node);

/* Receive the oldest node, or queue *w for one.
 * w: the caller's memory, unused or completed; must stay where it is while it is queued.
 * node: where to store the node's address; must stay where it is while *w is queued, because a
 *   sender writes it.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (closed, and no
 *   node is left). A queued receive completes with VOLT_OK (received) or VOLT_ECLOSED:
 *   volt_waiter_result().
 * Wakes: waker, exactly once if *w is queued, with nothing held. Cancel: volt_mailbox_cancel().
 * Threads: any; not from a signal handler. Order: as volt_mailbox_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv_waiter(volt_mailbox *m, volt_waiter *w,
                                                     volt_mailbox_node **node, volt_waker waker);

/* Receive the oldest node; block this thread until there is one or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_mailbox_recv() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing received), or VOLT_ECLOSED (closed, and no node is
 *   left).
 * Threads: any that may block. Order: as volt_mailbox_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv_until(volt_mailbox *m, volt_mailbox_node **node,
                                                    uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_mailbox_recv(volt_mailbox *m, volt_mailbox_node **node) {
  return volt_mailbox_recv_until(m, node, VOLT_NO_DEADLINE);
}

/* A receive as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. node: where to store the node's address; must stay
 *   until the future is ready or cancelled.
 * Returns f. It polls as VOLT_OK (received) or VOLT_ECLOSED (closed, and no node is left).
 * Cancel: volt_future_cancel(). If the future was granted a node and is cancelled, or loses a
 *   select, the node goes to the oldest receiver that waits, or to the head of the list; *node has
 *   no meaning then. In a closed mailbox it can still be received, or goes to
 *   volt_mailbox_destroy(). */
VOLT_API VOLT_NODISCARD volt_future *volt_mailbox_recv_future(volt_future *f, volt_mailbox *m,
                                                              volt_mailbox_node **node);

/* ---- cancel ---- */

/* Give up waiting.
 * w: last passed to volt_mailbox_recv_waiter() on this mailbox, or never used.
 * Returns true: cancelled; nothing was or will be received, and no wake comes. Returns false: too
 *   late, the receive has completed, as volt_waiter_result(w) says, and its one wake has come or
 *   will come, perhaps from within this call. With VOLT_OK the node is the caller's.
 * Threads: the owner of *w. */
VOLT_API bool volt_mailbox_cancel(volt_mailbox *m, volt_waiter *w);

/* ---- close ---- */

/* Close *m: no more sends, they return VOLT_ECLOSED. Receivers that wait complete with
 * VOLT_ECLOSED; later ones get the nodes that are left, then VOLT_ECLOSED. A second close does
 * nothing.
 * Wakes: every receiver, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another one that uses the mailbox at that time.
 * Threads: any; not from a signal handler.
 * Order: a thread that sees VOLT_ECLOSED acquires what this thread did before. */
VOLT_API void volt_mailbox_close(volt_mailbox *m);

/* ---- inspection: snapshots; any thread ---- */

/* How many nodes can be received. */
VOLT_API uint64_t volt_mailbox_len(const volt_mailbox *m);
/* How many receivers wait. */
VOLT_API uint32_t volt_mailbox_waiters(const volt_mailbox *m);
/* Whether the mailbox is closed. Order: acquires what the closer did before. */
VOLT_API bool volt_mailbox_is_closed(const volt_mailbox *m);

VOLT_END_DECLS
#endif

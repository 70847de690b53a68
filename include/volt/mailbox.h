/* mailbox.h: an unbounded channel of nodes in their senders' memory, whose receivers can wait.
 *
 * A send links a node and returns: it never waits for a receiver, and fails only if the mailbox is
 * closed. A receiver gets the node itself, first in, first out. It waits for a node as a task, as a
 * thread, or as a waiter of an event loop, all in one FIFO: a node that is sent while receivers
 * wait goes straight to the oldest of them. There may be any number of senders and of receivers.
 * Nothing is copied and nothing is allocated. Nothing bounds how many nodes are under way: put a
 * volt_sem beside the mailbox for that, or use a volt_chan.
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
 * receiver of the last node may destroy the mailbox while that send is still returning.
 * If there are other receivers, none of them may be in a cancel, a set_waker, a poll or the drop of
 * its future, or in a wait with a deadline then: these look at the mailbox until they return.
 *
 * Progress: a mailbox is a list under a lock that is held for a few instructions. So a receiver
 * never finds a node that is half sent (volt/mpsc.h can have one, in exchange for a push that is
 * wait-free). A thread that is descheduled while it holds the lock delays the others: they spin a
 * little, then nap. */
#ifndef VOLT_MAILBOX_H
#define VOLT_MAILBOX_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. It is embedded in what is sent, and needs no initialisation. */
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

/* Make *m an empty mailbox. */
VOLT_API void volt_mailbox_init(volt_mailbox *m);

/* End its life; frees nothing itself. No receiver may be queued (aborts), and no thread may use *m
 * again. Waits for a close() that has more than 32 waiters to tell, so it must not be called from a
 * waker of that close().
 * drop(node, ctx): called for each node that is left, oldest first; it may free the node. NULL: the
 *   nodes that are left are the caller's, who has to find them by other means. */
VOLT_API void volt_mailbox_destroy(volt_mailbox *m,
                                   void (*drop)(volt_mailbox_node *node, void *ctx), void *ctx);

/* Send *node: to the oldest receiver that waits, or to the end of the list.
 * node: the caller's memory, in no mailbox. It is the receiver's when it is received; until then it
 *   must stay where it is. If this returns VOLT_ECLOSED it is still the caller's.
 * Returns VOLT_OK, or VOLT_ECLOSED (not sent).
 * Wakes: the receiver that gets the node, with nothing held; and what is left to wake of a close().
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the receiver of the node. */
VOLT_API VOLT_NODISCARD int volt_mailbox_send(volt_mailbox *m, volt_mailbox_node *node);

/* No more sends: every later one returns VOLT_ECLOSED. Waiting receivers complete with
 * VOLT_ECLOSED; later ones get what is left and then return it. Closing twice does nothing more.
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another one that uses the mailbox meanwhile.
 * Threads: any; not from a signal handler. Order: a thread that sees VOLT_ECLOSED acquires what the
 *   closer did before. */
VOLT_API void volt_mailbox_close(volt_mailbox *m);

/* Receive the oldest node if there is one.
 * *node: the node, which is the caller's from then on; untouched unless VOLT_OK is returned.
 * Returns VOLT_OK, VOLT_EAGAIN (there is no node), or VOLT_ECLOSED (closed, and no node is left).
 * Threads: any. Order: acquires what its sender did before. */
VOLT_API VOLT_NODISCARD int volt_mailbox_try_recv(volt_mailbox *m, volt_mailbox_node **node);

/* Receive the oldest node, or queue *w for one.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * node: the caller's memory, which must stay where it is while *w is queued: the sender writes it.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (closed, no node is
 *   left). A queued receive completes with VOLT_OK (received) or VOLT_ECLOSED:
 *   volt_waiter_result().
 * Wakes: waker, exactly once, with nothing held. Cancel: volt_mailbox_cancel().
 * Threads: any. Order: as volt_mailbox_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv(volt_mailbox *m, volt_waiter *w,
                                              volt_mailbox_node **node, volt_waker waker);

/* Receive the oldest node; block this thread until there is one or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing received), or VOLT_ECLOSED (closed, no node is left).
 * Threads: any that may block. Order: as volt_mailbox_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv_blocking(volt_mailbox *m, volt_mailbox_node **node,
                                                       uint64_t deadline_ns);

/* Give up waiting.
 * w: last passed to volt_mailbox_recv() on this mailbox (or never used).
 * Returns true: cancelled, nothing was or will be received, no wake will come. Returns false: too
 *   late, the receive has completed. volt_waiter_result(w) is VOLT_OK (the node is the caller's) or
 *   VOLT_ECLOSED (there is no node), and the one wake has come or will come.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API bool volt_mailbox_cancel(volt_mailbox *m, volt_waiter *w);

/* A receive as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. node: the caller's memory, which must stay until the
 *   future is ready or cancelled.
 * Returns f. It polls as volt_mailbox_recv() returns and completes.
 * Cancel: a future that was granted a node, and is cancelled or loses a select, gives the node back
 *   to the oldest receiver, or to the head of the list. *node means nothing then. A node that is
 *   given back to a closed mailbox can still be received, or goes to volt_mailbox_destroy(). */
VOLT_API volt_future *volt_mailbox_recv_future(volt_future *f, volt_mailbox *m,
                                               volt_mailbox_node **node);

/* ---- inspection: snapshots; any thread ---- */

/* How many nodes are there to receive. */
VOLT_API uint64_t volt_mailbox_len(const volt_mailbox *m);
/* How many receivers wait. */
VOLT_API uint32_t volt_mailbox_waiters(const volt_mailbox *m);
/* Whether volt_mailbox_close() has been called. Order: acquires what the closer did. */
VOLT_API bool volt_mailbox_is_closed(const volt_mailbox *m);

VOLT_END_DECLS
#endif

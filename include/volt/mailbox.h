/* mailbox.h: an unbounded channel of nodes in their senders' memory, whose receivers can wait.
 *
 * A send links a node and returns: it never waits, and never fails but on a closed mailbox. Who
 * receives gets the node itself, first in, first out, and waits for one as a task, as a thread or
 * as a waiter of an event loop, all in one FIFO: what is sent while somebody waits goes straight to
 * the oldest of them. Any number of senders and of receivers. Nothing is copied, nothing is
 * allocated, nothing bounds how much is under way: bound it by a volt_sem beside it, or use a
 * volt_chan.
 *
 *   struct job { volt_mailbox_node node; ... };
 *   volt_mailbox jobs = VOLT_MAILBOX_INIT;
 *   volt_mailbox_send(&jobs, &job->node);                                         from anywhere
 *
 *   VOLT_AWAIT(self, volt_mailbox_recv_future(&self->f, &jobs, &self->node));     a task
 *   struct job *job = volt_container_of(self->node, struct job, node);
 *
 * close() ends the sending: senders fail at once and keep their nodes; receivers first get what was
 * sent before, then VOLT_ECLOSED.
 *
 * Lifetime: a send does not touch the mailbox, nor the node, once the node can be received: who
 * receives the last one may destroy the mailbox while that send is still returning.
 *
 * Progress: a mailbox is a list under a lock that is held for a few instructions, so there is no
 * half-sent node that a receiver would have to look for again (volt/mpsc.h has that, and a push
 * that is wait-free in exchange). A thread that is descheduled in there delays the others: they
 * spin a little, then nap. */
#ifndef VOLT_MAILBOX_H
#define VOLT_MAILBOX_H

#include "future.h"
#include "wait_queue.h"

/* Members are private. To be embedded in what is sent; needs no initialisation. */
typedef struct volt_mailbox_node {
  VOLT_PLAIN(struct volt_mailbox_node *) next;
} volt_mailbox_node;

/* Members are private. */
typedef struct volt_mailbox {
  volt_wait_queue queue; /* of receivers */
  VOLT_PLAIN(volt_mailbox_node *) first;
  VOLT_PLAIN(volt_mailbox_node *) last;
  VOLT_PLAIN(uint64_t) len;
} volt_mailbox;

/* An empty mailbox; so is one that is all zero. */
#define VOLT_MAILBOX_INIT \
  { VOLT_WAIT_QUEUE_INIT_(0), NULL, NULL, 0 }

VOLT_BEGIN_DECLS

/* Make *m an empty mailbox. */
VOLT_API void volt_mailbox_init(volt_mailbox *m);

/* End its life. Nobody may be waiting (aborts) or use it again. Waits for a close() that has more
 * than 32 waiters to tell; so not from a waker that it calls.
 * drop(node, ctx): called for each node that nobody received, oldest first; may free it. NULL: for
 *   none. */
VOLT_API void volt_mailbox_destroy(volt_mailbox *m,
                                   void (*drop)(volt_mailbox_node *node, void *ctx), void *ctx);

/* Send *node: to the oldest receiver that waits, or to the end of the list.
 * node: the caller's memory, in no mailbox; from then on its receiver's, or, if this returns
 *   VOLT_ECLOSED, still the caller's.
 * Returns VOLT_OK, or VOLT_ECLOSED (not sent).
 * Wakes: the receiver it hands to, with nothing held. Threads: any; not from a signal handler.
 * Order: releases what this thread did before to who receives the node. */
VOLT_API VOLT_NODISCARD int volt_mailbox_send(volt_mailbox *m, volt_mailbox_node *node);

/* No more sends: every later one returns VOLT_ECLOSED. Waiting receivers complete with
 * VOLT_ECLOSED; later ones get what is left and then return it. Closing twice does nothing more.
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another one that uses the mailbox meanwhile.
 * Threads: any. Order: who sees VOLT_ECLOSED acquires what the closer did before. */
VOLT_API void volt_mailbox_close(volt_mailbox *m);

/* Receive the oldest node if there is one.
 * *node: the node, which is the caller's from then on; untouched unless VOLT_OK.
 * Returns VOLT_OK, VOLT_EAGAIN (there is none), or VOLT_ECLOSED (closed, and nothing is left).
 * Threads: any. Order: acquires what its sender did before. */
VOLT_API VOLT_NODISCARD int volt_mailbox_try_recv(volt_mailbox *m, volt_mailbox_node **node);

/* Receive the oldest node, or queue *w for one.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * node: the caller's, and must stay too: it is written by the sender.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (closed, nothing is
 *   left). A queued receive completes with VOLT_OK (received) or VOLT_ECLOSED:
 *   volt_waiter_result().
 * Wakes: waker, exactly once, with nothing held. Cancel: volt_mailbox_cancel().
 * Threads: any. Order: as volt_mailbox_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv(volt_mailbox *m, volt_waiter *w,
                                              volt_mailbox_node **node, volt_waker waker);

/* Receive the oldest node; block this thread until there is one or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing received), or VOLT_ECLOSED.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_mailbox_recv_blocking(volt_mailbox *m, volt_mailbox_node **node,
                                                       uint64_t deadline_ns);

/* Give up waiting.
 * w: last passed to volt_mailbox_recv() on this mailbox (or never used).
 * Returns true: cancelled, nothing was or will be received, no wake will come. Returns false: too
 *   late, it has completed: see volt_waiter_result(w): VOLT_OK, the node is the caller's;
 *   VOLT_ECLOSED, there is none. Its one wake has come or will come.
 * Threads: the owner of *w. */
VOLT_API bool volt_mailbox_cancel(volt_mailbox *m, volt_waiter *w);

/* Replace the waker of a queued waiter. As volt_sem_set_waker(). */
VOLT_API bool volt_mailbox_set_waker(volt_mailbox *m, volt_waiter *w, volt_waker waker);

/* A receive as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. node: the caller's, until the future is ready.
 * Dropped in the instant in which it was granted, or if it loses a select, it gives the node back,
 * to the oldest receiver or to the head of the list: nothing is lost. *node means nothing then.
 * Given back to a closed mailbox, it is for who receives afterwards, or for volt_mailbox_destroy().
 * Returns f. */
VOLT_API volt_future *volt_mailbox_recv_future(volt_future *f, volt_mailbox *m,
                                               volt_mailbox_node **node);

/* ---- inspection: snapshots; any thread ---- */

/* How many nodes nobody has received. */
VOLT_API uint64_t volt_mailbox_len(volt_mailbox *m);
/* How many receivers wait. */
VOLT_API uint32_t volt_mailbox_waiters(volt_mailbox *m);
/* Whether volt_mailbox_close() has been called. Order: acquires what the closer did. */
VOLT_API bool volt_mailbox_is_closed(volt_mailbox *m);

VOLT_END_DECLS
#endif

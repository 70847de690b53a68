/* bcs_queue.h: batched critical sections: queues whose first submitter becomes their consumer.
 *
 * submit() puts a node into the queue. A thread that finds the queue empty is the consumer: it
 * calls handle() for its own node, and for all that others add meanwhile, until there is none. So
 * every handle() is a critical section, and no thread has waited for another to be scheduled: all
 * other submitters return at once. Nothing is allocated; a node lives in its owner's memory.
 *
 *   static void add(volt_bcs_node *node, void *ctx) { *(int *)ctx += *(int *)node->data; }
 *   volt_bcs_node node = {.data = &three};
 *   volt_bcs_waitfree_submit(&queue, &node, add, &sum);
 *
 * Three forms, which differ in progress, in order and in when a node is its owner's again:
 *
 *                            volt_bcs_lockfree     volt_bcs_waitfree    volt_bcs_waitfree_stub
 *   submit                   lock-free             wait-free            wait-free
 *   RMWs, uncontended        2                     2                    3
 *   order                    newest first, within  first come, first    first come, first served
 *                            each batch            served
 *   in handle(), the node    must be left alone:   must be left alone   may be freed, re-submitted,
 *                            it may be the top                          given away
 *
 * From done() on, the node is its owner's again, in every form (see volt_bcs_ops). A thread that
 * keeps finding new nodes remains the consumer for as long: volt/bcs_lock.h has a bound for that.
 *
 * State of the critical section can ride in the queue itself: what is stored there while it is
 * empty is a number, which handle_state() is given and returns. So the state of, say, a counter is
 * one word, and needs no memory beside it.
 *
 * All-zero is a valid empty queue with state 0. handle() may submit to the same queue: the node is
 * handled later, by this thread or another. handle() must not wait for that. */
#ifndef VOLT_BCS_QUEUE_H
#define VOLT_BCS_QUEUE_H

#include "base.h"
#include "detail/atomic.h"

typedef struct volt_bcs_node volt_bcs_node;

struct volt_bcs_node {
  VOLT_ATOMIC(uintptr_t) next; /* private */
  VOLT_PLAIN(void *) data;     /* the submitter's, for handle() */
};
VOLT_SIZE_AT_MOST_(volt_bcs_node, 2 * sizeof(void *));

/* A critical section.
 * node: what may be done with it depends on the form. ctx: what the thread that has become the
 *   consumer gave to submit(). */
typedef void volt_bcs_handle(volt_bcs_node *node, void *ctx);

/* The same, with the state of the queue. Returns the new state, 0..VOLT_BCS_STATE_MAX. */
typedef uintptr_t volt_bcs_handle_state(volt_bcs_node *node, void *ctx, uintptr_t state);

/* What the consumer calls: handle or handle_state, and if they are not NULL, done and flush. Every
 * submitter of a queue has to give the same ones, because any of them may be the consumer. ops and
 * ctx are those of the consumer's own submit(), and are not used after it has returned. */
typedef struct volt_bcs_ops {
  volt_bcs_handle *handle;
  volt_bcs_handle_state *handle_state; /* instead of handle; excess bits are cut off */
  /* The node has been handled and is not in the queue any more: it may be freed, submitted again,
   * given back to its owner. This is no critical section, because for the last node it is called
   * after the consumer has given up its role. (With volt_bcs_waitfree_stub, handle() may do what
   * done() does.) */
  void (*done)(volt_bcs_node *node, void *ctx);
  /* No further node is in sight. Called as a critical section, before the consumer tries to give up
   * its role. For what is done once per batch (one system call, one write). */
  void (*flush)(void *ctx);
} volt_bcs_ops;

/* The largest state. */
#define VOLT_BCS_STATE_MAX (UINTPTR_MAX >> 1)

/* The lock-free form: a stack that is emptied by marking. Members are private. */
typedef struct volt_bcs_lockfree {
  VOLT_ATOMIC(uintptr_t) top;
} volt_bcs_lockfree;
VOLT_SIZE_AT_MOST_(volt_bcs_lockfree, sizeof(void *));

/* The wait-free form: a queue whose last link decides. Members are private. */
typedef struct volt_bcs_waitfree {
  VOLT_ATOMIC(uintptr_t) tail;
} volt_bcs_waitfree;
VOLT_SIZE_AT_MOST_(volt_bcs_waitfree, sizeof(void *));

/* The form with a stub: the last node leaves the queue before it is handled. Members are
 * private. */
typedef struct volt_bcs_waitfree_stub {
  VOLT_ATOMIC(uintptr_t) tail;
  volt_bcs_node stub;
} volt_bcs_waitfree_stub;

VOLT_BEGIN_DECLS

/* Make the queue empty, with state 0, or with a state of 0..VOLT_BCS_STATE_MAX.
 * Threads: one, while no other uses the queue. */
VOLT_API void volt_bcs_lockfree_init(volt_bcs_lockfree *q);
VOLT_API void volt_bcs_lockfree_init_state(volt_bcs_lockfree *q, uintptr_t state);
VOLT_API void volt_bcs_waitfree_init(volt_bcs_waitfree *q);
VOLT_API void volt_bcs_waitfree_init_state(volt_bcs_waitfree *q, uintptr_t state);
VOLT_API void volt_bcs_waitfree_stub_init(volt_bcs_waitfree_stub *q);
VOLT_API void volt_bcs_waitfree_stub_init_state(volt_bcs_waitfree_stub *q, uintptr_t state);

/* Handle *node in a critical section of q, newest first among what has come while the consumer was
 * busy. If the queue was empty, this thread handles the node, and what others add meanwhile, before
 * it returns; else the consumer handles it.
 * node: the caller's memory, in no queue; must stay until done() has been called for it. For most
 *   nodes that comes right after handle(). For the top of each batch it comes later, because the
 *   consumer compares the top with it to know whether there is more.
 * ops, handle, ctx: as in volt_bcs_ops.
 * Threads: any, and from inside handle(). Progress: lock-free. Order: handle() acquires what the
 *   submitter of *node did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_lockfree_submit_ops(volt_bcs_lockfree *q, volt_bcs_node *node,
                                           const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_lockfree_submit(volt_bcs_lockfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx);

/* The same, first come, first served.
 * node: the caller's memory, in no queue; must stay, untouched also by handle(), until done() has
 *   been called for it; without done(), until a node that was submitted later is being handled.
 * Threads: any, and from inside handle(). Progress: wait-free, except for the sections themselves.
 *   Order: handle() acquires what the submitter did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_waitfree_submit_ops(volt_bcs_waitfree *q, volt_bcs_node *node,
                                           const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_waitfree_submit(volt_bcs_waitfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx);

/* The same, first come, first served, and the node is out of the queue when it is handled.
 * node: the caller's memory, in no queue; must stay until it is handled. handle() may free it,
 *   submit it again, or give it away.
 * q: must stay until every submit() has returned.
 * Threads: any, and from inside handle(). Progress: wait-free, except for the sections themselves.
 *   Order: handle() acquires what the submitter did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_waitfree_stub_submit_ops(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                                const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_waitfree_stub_submit(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                                 volt_bcs_handle *handle, void *ctx);

/* The state of an empty queue; 0 while there is a consumer. A snapshot: for tests and assertions.
 * Threads: any. */
VOLT_API uintptr_t volt_bcs_lockfree_state(volt_bcs_lockfree *q);
VOLT_API uintptr_t volt_bcs_waitfree_state(volt_bcs_waitfree *q);
VOLT_API uintptr_t volt_bcs_waitfree_stub_state(volt_bcs_waitfree_stub *q);

VOLT_END_DECLS

#include "detail/bcs_queue.h"

#endif

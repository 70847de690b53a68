/* bcs_queue.h: batched critical sections: queues whose first submitter becomes their consumer.
 *
 * submit() puts a node into the queue. Whoever finds the queue empty is the consumer, and calls
 * handle() for its own node and for all that others add meanwhile, until there is none: every
 * handle() is a critical section, and nobody has waited for a thread to be scheduled. Everybody
 * else returns at once. Nothing is allocated; a node lives in its owner's memory.
 *
 *   static void add(volt_bcs_node *node, void *ctx) { *(int *)ctx += *(int *)node->data; }
 *   volt_bcs_node node = {.data = &three};
 *   volt_bcs_waitfree_submit(&queue, &node, add, &sum);
 *
 * Three forms, which differ in progress, in order and in when a node is its owner's again:
 *
 *                            volt_bcs_lockfree     volt_bcs_waitfree    volt_bcs_waitfree_stub
 *   submit                   lock-free             wait-free            wait-free
 *   RMWs, nobody else there  2                     2                    3
 *   order                    newest first, within  first come, first    first come, first served
 *                            each batch            served
 *   in handle(), the node    must be left alone:   must be left alone   may be freed, re-submitted,
 *                            it may be the top                          given to anybody
 *
 * From done() on, the node is its owner's again, in every form (see volt_bcs_ops). A thread that
 * keeps finding new nodes remains the consumer for as long: volt/bcs_lock.h has a bound for that.
 *
 * State of the critical section can ride in the queue itself: what is stored there while it is
 * empty is a number, which handle_state() is given and returns, so that the state of, say, a
 * counter is one word and needs no memory beside it.
 *
 * All-zero is a valid empty queue with state 0. handle() may submit to the same queue: the node is
 * handled later, by this thread or another. It must not wait for that. */
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

/* A critical section. node: see the form for what may be done with it. ctx: as given to submit() by
 * the thread that has become the consumer. */
typedef void volt_bcs_handle(volt_bcs_node *node, void *ctx);
typedef uintptr_t volt_bcs_handle_state(volt_bcs_node *node, void *ctx, uintptr_t state);

/* What the consumer calls: handle or handle_state, and if they are not NULL, done and flush. Every
 * submitter of a queue has to give the same, for any of them may be the consumer. ops and ctx are
 * those of the consumer's own submit(), and are not used after it has returned. */
typedef struct volt_bcs_ops {
  volt_bcs_handle *handle;
  volt_bcs_handle_state *handle_state; /* instead of handle: returns the new state (the bits of
                                          VOLT_BCS_STATE_MAX) */
  /* The node has been handled and is not in the queue any more: it may be freed, submitted again,
   * given back to its owner. Called by the consumer, but for the last node after it has ceased to
   * be: not a critical section. (With volt_bcs_waitfree_stub, handle() may do that itself.) */
  void (*done)(volt_bcs_node *node, void *ctx);
  /* No further node is in sight: called, as a critical section, before the consumer tries to leave.
   * For what is done once per batch (one system call, one write). */
  void (*flush)(void *ctx);
} volt_bcs_ops;

/* ---- links ---- */

/* A link is the address of a node; 0; or, when it is odd, a state: that of an empty queue, or that
 * of a consumer who leaves it to the next. */
#define VOLT_BCS_STATE_MAX (UINTPTR_MAX >> 1)

static inline bool volt_bcs_is_node_(uintptr_t link) {
  return link != 0 && (link & 1) == 0;
}
static inline volt_bcs_node *volt_bcs_node_of_(uintptr_t link) {
  return (volt_bcs_node *)link;
}
static inline uintptr_t volt_bcs_link_to_(volt_bcs_node *node) {
  return (uintptr_t)node;
}
static inline uintptr_t volt_bcs_empty_(uintptr_t state) {
  return state == 0 ? 0 : state << 1 | 1;
}
static inline uintptr_t volt_bcs_sentinel_(uintptr_t state) {
  return state << 1 | 1;
}
static inline uintptr_t volt_bcs_state_of_(uintptr_t link) {
  return link >> 1;
}

static inline uintptr_t volt_bcs_handle_one_(const volt_bcs_ops *ops, volt_bcs_node *node,
                                             void *ctx, uintptr_t state) {
  if (ops->handle_state) return ops->handle_state(node, ctx, state) & VOLT_BCS_STATE_MAX;
  ops->handle(node, ctx);
  return state;
}

/* ---- lock-free: a stack that is emptied by marking ---- */

/* Members are private. */
typedef struct volt_bcs_lockfree {
  VOLT_ATOMIC(uintptr_t) top;
} volt_bcs_lockfree;
VOLT_SIZE_AT_MOST_(volt_bcs_lockfree, sizeof(void *));

/* Returns true if the caller is the consumer now; then *state is the queue's. */
static inline bool volt_bcs_lockfree_push_(volt_bcs_lockfree *q, volt_bcs_node *node,
                                           uintptr_t *state) {
  uintptr_t top = volt_load_relaxed(&q->top); /* a guess: the CAS decides */
  do {
    volt_store_relaxed(&node->next, top); /* published by S1 */
    /* bcs_queue:S1 <-> bcs_queue:S2, bcs_queue:S3: the next consumer sees what the last one did */
  } while (!volt_cas_weak_acq_rel(&q->top, &top, volt_bcs_link_to_(node)));
  *state = volt_bcs_state_of_(top);
  return !volt_bcs_is_node_(top);
}

/* The consumer has handled everything from top down. Returns 0: the queue is empty, the role given
 * up. Else: the new top; the nodes from there to the old one are to be handled. */
static inline uintptr_t volt_bcs_lockfree_leave_(volt_bcs_lockfree *q, uintptr_t top,
                                                 uintptr_t state) {
  uintptr_t seen = top;
  /* bcs_queue:S2 -> bcs_queue:S1: the next consumer sees what the last one did */
  if (volt_cas_release(&q->top, &seen, volt_bcs_empty_(state))) return 0;
  /* bcs_queue:S3 <- bcs_queue:S1, bcs_lock:S1: the consumer sees the nodes of a batch */
  return volt_load_acquire(&q->top);
}

/* The body of submit: inline, so that a known handle() is part of it. */
static inline void volt_bcs_lockfree_consume_(volt_bcs_lockfree *q, volt_bcs_node *node,
                                              const volt_bcs_ops *ops, void *ctx) {
  uintptr_t state;
  if (!volt_bcs_lockfree_push_(q, node, &state)) return;
  uintptr_t top = volt_bcs_link_to_(node);
  uintptr_t bottom = volt_load_relaxed(&node->next); /* role held */
  for (;;) {
    for (uintptr_t link = top; link != bottom;) {
      volt_bcs_node *at = volt_bcs_node_of_(link);
      link = volt_load_relaxed(&at->next); /* role held: published by S1, seen by S1 or S3 */
      state = volt_bcs_handle_one_(ops, at, ctx, state);
      if (ops->done && volt_bcs_link_to_(at) != top) ops->done(at, ctx);
    }
    if (ops->flush) ops->flush(ctx);
    bottom = top;
    top = volt_bcs_lockfree_leave_(q, top, state);
    if (ops->done) ops->done(volt_bcs_node_of_(bottom), ctx);
    if (top == 0) return;
  }
}

/* ---- wait-free: a queue whose last link decides ---- */

/* Members are private. */
typedef struct volt_bcs_waitfree {
  VOLT_ATOMIC(uintptr_t) tail;
} volt_bcs_waitfree;
VOLT_SIZE_AT_MOST_(volt_bcs_waitfree, sizeof(void *));

enum { VOLT_BCS_HANDED_OFF_ = 1 };

/* The first step of a push. Returns 0 or a state: the queue was empty, the caller is the consumer;
 * or the link to the last node, for the second step. */
static inline uintptr_t volt_bcs_waitfree_swap_(VOLT_ATOMIC(uintptr_t) *tail, volt_bcs_node *node) {
  volt_store_relaxed(&node->next, 0); /* published by T1 */
  /* bcs_queue:T1 <-> bcs_queue:T1, bcs_queue:T2, bcs_lock:S2, bcs_lock:T2: the second producer
   * sees the first one's link as empty */
  return volt_exchange_acq_rel(tail, volt_bcs_link_to_(node));
}

/* The second step: link *node to the last. Returns 0: linked, the consumer will come by; or the
 * state: the caller is the consumer, and the last is in its hands. */
static inline uintptr_t volt_bcs_waitfree_link_(uintptr_t last, volt_bcs_node *node) {
  /* bcs_queue:N1 <-> bcs_queue:N2, bcs_queue:N3: the consumer sees the node and what it carries */
  return volt_exchange_acq_rel(&volt_bcs_node_of_(last)->next, volt_bcs_link_to_(node));
}

/* Both. Returns true if the caller is the consumer now, from node on; then *state is the queue's,
 * and *before is the node that the last consumer has left behind, or NULL. */
static inline bool volt_bcs_waitfree_push_(VOLT_ATOMIC(uintptr_t) *tail, volt_bcs_node *node,
                                           volt_bcs_node **before, uintptr_t *state) {
  uintptr_t link = volt_bcs_waitfree_swap_(tail, node);
  *before = NULL;
  if (volt_bcs_is_node_(link)) {
    *before = volt_bcs_node_of_(link);
    link = volt_bcs_waitfree_link_(link, node);
    if (link == 0) return false;
  }
  *state = volt_bcs_state_of_(link);
  return true;
}

/* The node after this one if it is linked already, or 0. */
static inline uintptr_t volt_bcs_waitfree_next_(volt_bcs_node *node) {
  /* bcs_queue:N2 <- bcs_queue:N1: the consumer sees the node and what it carries */
  return volt_load_acquire(&node->next);
}

/* No node was seen after this one. Returns 0: the queue is empty, the role given up; or
 * VOLT_BCS_HANDED_OFF_: whoever is about to link the next node is the consumer, and *node is in its
 * hands; or the next node. */
static inline uintptr_t volt_bcs_waitfree_leave_(VOLT_ATOMIC(uintptr_t) *tail, volt_bcs_node *node,
                                                 uintptr_t state) {
  uintptr_t seen = volt_bcs_link_to_(node);
  /* bcs_queue:T2 -> bcs_queue:T1: the next consumer sees what the last one did */
  if (volt_cas_release(tail, &seen, volt_bcs_empty_(state))) return 0;
  /* bcs_queue:N3 <-> bcs_queue:N1: the new consumer sees what the last one did No order is
   * sequentially consistent */
  seen = volt_exchange_acq_rel(&node->next, volt_bcs_sentinel_(state));
  return seen ? seen : (uintptr_t)VOLT_BCS_HANDED_OFF_;
}

/* The body of submit. */
static inline void volt_bcs_waitfree_consume_(volt_bcs_waitfree *q, volt_bcs_node *node,
                                              const volt_bcs_ops *ops, void *ctx) {
  uintptr_t state;
  volt_bcs_node *before;
  if (!volt_bcs_waitfree_push_(&q->tail, node, &before, &state)) return;
  if (before && ops->done) ops->done(before, ctx);
  for (uintptr_t link = volt_bcs_link_to_(node); link != 0;) {
    volt_bcs_node *at = volt_bcs_node_of_(link);
    state = volt_bcs_handle_one_(ops, at, ctx, state);
    link = volt_bcs_waitfree_next_(at);
    if (link == 0) {
      if (ops->flush) ops->flush(ctx);
      link = volt_bcs_waitfree_leave_(&q->tail, at, state);
      if (link == (uintptr_t)VOLT_BCS_HANDED_OFF_) return;
    }
    if (ops->done) ops->done(at, ctx);
  }
}

/* ---- wait-free with stub: the last node leaves the queue before it is handled ---- */

/* Members are private. */
typedef struct volt_bcs_waitfree_stub {
  VOLT_ATOMIC(uintptr_t) tail;
  volt_bcs_node stub;
} volt_bcs_waitfree_stub;

/* ---- the public functions ---- */

VOLT_BEGIN_DECLS

/* Make the queue empty, with state 0; or with a state of 0..VOLT_BCS_STATE_MAX. Not while in
 * use. */
VOLT_API void volt_bcs_lockfree_init(volt_bcs_lockfree *q);
VOLT_API void volt_bcs_lockfree_init_state(volt_bcs_lockfree *q, uintptr_t state);
VOLT_API void volt_bcs_waitfree_init(volt_bcs_waitfree *q);
VOLT_API void volt_bcs_waitfree_init_state(volt_bcs_waitfree *q, uintptr_t state);
VOLT_API void volt_bcs_waitfree_stub_init(volt_bcs_waitfree_stub *q);
VOLT_API void volt_bcs_waitfree_stub_init_state(volt_bcs_waitfree_stub *q, uintptr_t state);

/* The state of an empty queue; 0 while a consumer has it. A snapshot: for tests and assertions. */
VOLT_API uintptr_t volt_bcs_lockfree_state(volt_bcs_lockfree *q);
VOLT_API uintptr_t volt_bcs_waitfree_state(volt_bcs_waitfree *q);
VOLT_API uintptr_t volt_bcs_waitfree_stub_state(volt_bcs_waitfree_stub *q);

/* Have ops->handle() called for *node as a critical section of q: by this thread, before it
 * returns, if the queue was empty; else by the consumer.
 * node: the caller's memory, in no queue; must stay until done() has been called for it. That comes
 *   right after handle(), but for the top of each batch, by which the consumer tells whether there
 *   is more: its owner, with the node in hand earlier, could submit it again, and the consumer
 *   would take it for the old one: lost.
 * Order: newest first among what has come while the consumer was busy.
 * Threads: any, and from inside handle(). Progress: lock-free. Order: handle() acquires what the
 *   submitter of *node did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_lockfree_submit_ops(volt_bcs_lockfree *q, volt_bcs_node *node,
                                           const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_lockfree_submit(volt_bcs_lockfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_lockfree_consume_(q, node, &ops, ctx);
}

/* The same, first come first served.
 * node: the caller's memory, in no queue; must stay, untouched also by handle(), until done() has
 *   been called for it; without done(), until a node that was submitted later is being handled.
 * Threads: any, and from inside handle(). Progress: wait-free, but for the sections themselves.
 *   Order: handle() acquires what the submitter did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_waitfree_submit_ops(volt_bcs_waitfree *q, volt_bcs_node *node,
                                           const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_waitfree_submit(volt_bcs_waitfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_waitfree_consume_(q, node, &ops, ctx);
}

/* The same, first come first served, and the node is out of the queue when it is handled.
 * node: the caller's memory, in no queue; must stay until it is handled. handle() may free it,
 *   submit it again, or give it to whoever will.
 * The queue itself must stay until every submit() has returned.
 * Threads: any, and from inside handle(). Progress: wait-free, but for the sections themselves.
 *   Order: handle() acquires what the submitter did, and what all earlier critical sections did. */
VOLT_API void volt_bcs_waitfree_stub_submit_ops(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                                const volt_bcs_ops *ops, void *ctx);
static inline void volt_bcs_waitfree_stub_submit(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                                 volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_waitfree_stub_submit_ops(q, node, &ops, ctx);
}

VOLT_END_DECLS
#endif

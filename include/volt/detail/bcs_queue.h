/* detail/bcs_queue.h: how a node goes through the queues of batched critical sections: inline, so
 * that a known handle() becomes part of its submit.
 *
 * Not an interface: programs use volt/bcs_queue.h. The protocol is in src/bcs/bcs_queue.c. */
#ifndef VOLT_DETAIL_BCS_QUEUE_H
#define VOLT_DETAIL_BCS_QUEUE_H

#include "../bcs_queue.h"

/* ---- links ---- */

/* A link is the address of a node, or 0, or, if it is odd, a state: that of an empty queue, or that
 * which a consumer leaves to the next one. */
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

/* Returns true if the caller is the consumer now; *state is then the state that was in the
 * queue. */
static inline bool volt_bcs_lockfree_push_(volt_bcs_lockfree *q, volt_bcs_node *node,
                                           uintptr_t *state) {
  uintptr_t top = volt_load_relaxed(&q->top); /* a guess: the CAS decides */
  do {
    volt_store_relaxed(&node->next, top); /* published by bcs_queue:S1 */
    /* bcs_queue:S1 <-> bcs_queue:S2, bcs_queue:S3, bcs_lock:G1: sees what the last consumer did,
     * shows the next one the node */
  } while (!volt_cas_weak_acq_rel(&q->top, &top, volt_bcs_link_to_(node)));
  *state = volt_bcs_state_of_(top);
  return !volt_bcs_is_node_(top);
}

/* The consumer has handled everything from top down. Returns 0: the queue is empty, the role is
 * given up. Else returns the new top: the nodes from there to the old top are to be handled. */
static inline uintptr_t volt_bcs_lockfree_give_up_(volt_bcs_lockfree *q, uintptr_t top,
                                                   uintptr_t state) {
  uintptr_t seen = top;
  /* bcs_queue:S2 -> bcs_queue:S1, bcs_lock:S1: the next consumer sees what this one did */
  if (volt_cas_release(&q->top, &seen, volt_bcs_empty_(state))) return 0;
  /* bcs_queue:S3 <- bcs_queue:S1, bcs_lock:S1: the consumer sees the nodes of a batch */
  return volt_load_acquire(&q->top);
}

/* The body of submit. */
static inline void volt_bcs_lockfree_consume_(volt_bcs_lockfree *q, volt_bcs_node *node,
                                              const volt_bcs_ops *ops, void *ctx) {
  uintptr_t state;
  if (!volt_bcs_lockfree_push_(q, node, &state)) return;
  uintptr_t top = volt_bcs_link_to_(node);
  uintptr_t bottom = volt_load_relaxed(&node->next); /* role held */
  for (;;) {
    for (uintptr_t link = top; link != bottom;) {
      volt_bcs_node *at = volt_bcs_node_of_(link);
      link = volt_load_relaxed(
          &at->next); /* role held: published and seen by bcs_queue:S1, or seen by bcs_queue:S3 */
      state = volt_bcs_handle_one_(ops, at, ctx, state);
      if (ops->done && volt_bcs_link_to_(at) != top) ops->done(at, ctx);
    }
    if (ops->flush) ops->flush(ctx);
    bottom = top;
    top = volt_bcs_lockfree_give_up_(q, top, state);
    if (ops->done) ops->done(volt_bcs_node_of_(bottom), ctx);
    if (top == 0) return;
  }
}

/* ---- wait-free: a queue whose last link decides ---- */

enum { VOLT_BCS_HANDED_OFF_ = 1 };

/* The first step of a push. Returns 0 or a state: the queue was empty, the caller is the consumer.
 * Else returns the link to the last node, for the second step. */
static inline uintptr_t volt_bcs_waitfree_swap_(VOLT_ATOMIC(uintptr_t) *tail, volt_bcs_node *node) {
  volt_store_relaxed(&node->next, 0); /* published by bcs_queue:T1 */
  /* bcs_queue:T1 <-> bcs_queue:T1, bcs_queue:T2, bcs_lock:G1: sees the link of the last node as
   * empty, or what the last consumer did */
  return volt_exchange_acq_rel(tail, volt_bcs_link_to_(node));
}

/* The second step: link *node behind the last node. Returns 0: linked, the consumer comes to it.
 * Else returns the state: the caller is the consumer, and the last node is left to it. */
static inline uintptr_t volt_bcs_waitfree_link_(uintptr_t last, volt_bcs_node *node) {
  /* bcs_queue:N1 <-> bcs_queue:N2, bcs_queue:N3: shows the consumer the node, or sees what it
   * did */
  return volt_exchange_acq_rel(&volt_bcs_node_of_(last)->next, volt_bcs_link_to_(node));
}

/* Both steps. Returns true if the caller is the consumer now, from *node on; *state is then what
 * was in the queue, and *before the node that the last consumer has left to the caller, or NULL. */
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

/* The link to the node behind this one, or 0 if that is not linked yet. */
static inline uintptr_t volt_bcs_waitfree_next_(volt_bcs_node *node) {
  /* bcs_queue:N2 <- bcs_queue:N1: the consumer sees the node and what it carries */
  return volt_load_acquire(&node->next);
}

/* The consumer has seen no node behind *node. Returns 0: the queue is empty, the role is given up.
 * Or VOLT_BCS_HANDED_OFF_: the producer that is about to link the next node is the consumer now,
 * and *node is left to it. Or the link to the next node: the caller is still the consumer. */
static inline uintptr_t volt_bcs_waitfree_give_up_(VOLT_ATOMIC(uintptr_t) *tail,
                                                   volt_bcs_node *node, uintptr_t state) {
  uintptr_t seen = volt_bcs_link_to_(node);
  /* bcs_queue:T2 -> bcs_queue:T1: the next consumer sees what the last one did */
  if (volt_cas_release(tail, &seen, volt_bcs_empty_(state))) return 0;
  /* bcs_queue:N3 <-> bcs_queue:N1: sees the node linked meanwhile, or shows what was done here */
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
      link = volt_bcs_waitfree_give_up_(&q->tail, at, state);
      if (link == (uintptr_t)VOLT_BCS_HANDED_OFF_) return;
    }
    if (ops->done) ops->done(at, ctx);
  }
}

/* ---- the inline submits ---- */

static inline void volt_bcs_lockfree_submit(volt_bcs_lockfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_lockfree_consume_(q, node, &ops, ctx);
}

static inline void volt_bcs_waitfree_submit(volt_bcs_waitfree *q, volt_bcs_node *node,
                                            volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_waitfree_consume_(q, node, &ops, ctx);
}

static inline void volt_bcs_waitfree_stub_submit(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                                 volt_bcs_handle *handle, void *ctx) {
  const volt_bcs_ops ops = {handle, NULL, NULL, NULL};
  volt_bcs_waitfree_stub_submit_ops(q, node, &ops, ctx);
}

#endif

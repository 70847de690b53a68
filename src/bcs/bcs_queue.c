/* bcs_queue.c: batched critical sections. The inline half is in volt/bcs_queue.h.
 *
 * Algorithm: an intrusive queue of many producers whose consumer is the producer that found it
 * empty. It handles a node first and marks it as gone afterwards, so that "was it empty?" and "is
 * there a consumer?" are one question. The three forms differ in how the last node is marked.
 *   lock-free  A stack. CAS top -> empty; if that fails there is a new top, and what lies between
 *              it and the old one is the next batch.
 *   wait-free  A tail to swap, links from old to new. CAS tail -> empty; if that fails somebody has
 *              swapped the tail and not yet linked: whoever is second to swap the link (the
 *              producer its node, the consumer a sentinel) has the role. So neither ever waits.
 *   with stub  A node is handled when its successor is known, or when a stub has taken its place at
 *              the tail; only the stub is ever marked. A consumer that can do neither hands off,
 *              and what it has left behind is not handled yet.
 *
 * Source: kprotty, "Batched Critical Sections"; Vyukov's intrusive MPSC queue.
 *
 * Invariants
 *   I1  the queue is not empty <=> one thread has the role, or is between the two swaps of a push
 *       that will give it the role
 *   I2  a submitted node is handled once
 *   I3  (wait-free forms) nodes are handled in the order in which the tail was swapped
 *   I4  stub: it is in the queue at most once; while it is not, nobody but the consumer reaches it
 *
 * Races
 *   R1  Two consumers: one has taken the last node out and is about to handle it, another finds the
 *       queue empty. Closed: a node leaves the queue after it has been handled (I1).
 *   R2  Lock-free: the owner of the node that is the top gets it back, submits it again, and the
 *       consumer's CAS takes it for the old one: two submitted, one handled. Closed: done() of the
 *       node that the CAS compares with comes after the CAS.
 *   R3  Wait-free: consumer and producer each leave the role to the other. Closed: both swap the
 *       same link; the second has it.
 *   R4  Wait-free: the consumer reads a node that its owner has back. Closed: done() comes when the
 *       next link has been read; after a handoff *node is the producer's to give back.
 *   R5  Stub: a consumer that hands off has not handled its node. Closed: the new one begins with
 *       its predecessor, unless that is the stub. */
#include <volt/bcs_queue.h>

void volt_bcs_lockfree_submit_ops(volt_bcs_lockfree *q, volt_bcs_node *node,
                                  const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_lockfree_consume_(q, node, ops, ctx);
}

void volt_bcs_waitfree_submit_ops(volt_bcs_waitfree *q, volt_bcs_node *node,
                                  const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_waitfree_consume_(q, node, ops, ctx);
}

/* ---- wait-free with stub ---- */

/* What a consumer works with. */
struct stub_work {
  const volt_bcs_ops *ops;
  void *ctx;
  uintptr_t state;
  bool is_flushed; /* since the last handle() */
};

static void stub_flush(struct stub_work *w) {
  if (w->ops->flush && !w->is_flushed) w->ops->flush(w->ctx);
  w->is_flushed = true;
}

/* Make sure that the queue goes on behind *at, which has not been handled: with the next node, or
 * with the stub. Returns the link to it, or 0: handed off, *at unhandled. */
static uintptr_t stub_follow(volt_bcs_waitfree_stub *q, volt_bcs_node *at, struct stub_work *w) {
  uintptr_t next = volt_bcs_waitfree_next_(at);
  if (next != 0) return next;
  volt_store_relaxed(&q->stub.next, 0); /* I4: ours; published by T2 */
  uintptr_t stub = volt_bcs_link_to_(&q->stub);
  uintptr_t seen = volt_bcs_link_to_(at);
  /* bcs_queue:T2 -> bcs_queue:T1: a producer that links behind the stub sees its next as empty */
  if (volt_cas_release(&q->tail, &seen, stub)) return stub;
  stub_flush(w);
  /* bcs_queue:N3 <-> bcs_queue:N1: sees the node linked meanwhile, or shows what was done here */
  return volt_exchange_acq_rel(&at->next, volt_bcs_sentinel_(w->state));
}

/* The stub is the last, or was. Returns the link to the node behind it, or 0: the role is gone. */
static uintptr_t stub_pass(volt_bcs_waitfree_stub *q, struct stub_work *w) {
  uintptr_t next = volt_bcs_waitfree_next_(&q->stub);
  if (next != 0) return next;
  stub_flush(w);
  next = volt_bcs_waitfree_give_up_(&q->tail, &q->stub, w->state);
  return next == (uintptr_t)VOLT_BCS_HANDED_OFF_ ? 0 : next;
}

void volt_bcs_waitfree_stub_submit_ops(volt_bcs_waitfree_stub *q, volt_bcs_node *node,
                                       const volt_bcs_ops *ops, void *ctx) {
  struct stub_work w = {.ops = ops, .ctx = ctx, .state = 0, .is_flushed = true};
  volt_bcs_node *before;
  if (!volt_bcs_waitfree_push_(&q->tail, node, &before, &w.state)) return;
  const uintptr_t stub = volt_bcs_link_to_(&q->stub);
  volt_bcs_node *at = before && before != &q->stub ? before : node; /* R5 */
  for (;;) {
    uintptr_t next = stub_follow(q, at, &w);
    if (next == 0) return;
    w.state = volt_bcs_handle_one_(ops, at, ctx, w.state);
    w.is_flushed = false;
    if (ops->done) ops->done(at, ctx);
    if (next == stub) next = stub_pass(q, &w);
    if (next == 0) return;
    at = volt_bcs_node_of_(next);
  }
}

/* ---- life and inspection ---- */

static void bcs_queue_init(VOLT_ATOMIC(uintptr_t) *word, uintptr_t state) {
  volt_store_relaxed(word, volt_bcs_empty_(state)); /* not shared yet */
}

static uintptr_t bcs_queue_state(VOLT_ATOMIC(uintptr_t) *word) {
  uintptr_t link = volt_load_relaxed(word); /* a snapshot */
  return volt_bcs_is_node_(link) ? 0 : volt_bcs_state_of_(link);
}

void volt_bcs_lockfree_init(volt_bcs_lockfree *q) {
  bcs_queue_init(&q->top, 0);
}
void volt_bcs_lockfree_init_state(volt_bcs_lockfree *q, uintptr_t state) {
  bcs_queue_init(&q->top, state);
}
uintptr_t volt_bcs_lockfree_state(volt_bcs_lockfree *q) {
  return bcs_queue_state(&q->top);
}

void volt_bcs_waitfree_init(volt_bcs_waitfree *q) {
  bcs_queue_init(&q->tail, 0);
}
void volt_bcs_waitfree_init_state(volt_bcs_waitfree *q, uintptr_t state) {
  bcs_queue_init(&q->tail, state);
}
uintptr_t volt_bcs_waitfree_state(volt_bcs_waitfree *q) {
  return bcs_queue_state(&q->tail);
}

void volt_bcs_waitfree_stub_init(volt_bcs_waitfree_stub *q) {
  bcs_queue_init(&q->tail, 0);
}
void volt_bcs_waitfree_stub_init_state(volt_bcs_waitfree_stub *q, uintptr_t state) {
  bcs_queue_init(&q->tail, state);
}
uintptr_t volt_bcs_waitfree_stub_state(volt_bcs_waitfree_stub *q) {
  return bcs_queue_state(&q->tail);
}

/* bcs_queue.c: batched critical sections. The inline half is in volt/detail/bcs_queue.h.
 *
 * Algorithm: an intrusive queue of many producers. The producer that finds it empty becomes the
 * consumer. The consumer handles a node first and takes it out of the queue afterwards. So "is the
 * queue empty?" and "is there no consumer?" are one question. The forms differ in how the consumer
 * ends at the last node:
 *   lock-free  A stack. The consumer sets the top from its last node to empty by a CAS. If that
 *              fails, there is a new top; the nodes between the two are the next batch.
 *   wait-free  A tail that producers swap, and links from old to new. The consumer sets the tail
 *              from its last node to empty by a CAS. If that fails, a producer has swapped the tail
 *              and may not have linked its node yet. Then both swap the link of the last node: the
 *              producer puts its node there, the consumer a sentinel. The second of the two is the
 *              consumer from then on. So neither ever waits for the other.
 *   with stub  Wait-free, and a node is handled only when another follows it: the next one, or a
 *              stub that the consumer puts at the tail. The tail is set to empty only from the
 *              stub. If the consumer can do neither, it hands off: it leaves the role, and a node
 *              that is not handled yet, to the producer.
 *
 * Source: kprotty, "Batched Critical Sections"; Vyukov's intrusive MPSC queue. What the published
 * forms got wrong: docs/errata.md.
 *
 * Invariants
 *   I1  The queue is not empty if and only if one thread has the role, or is between the two swaps
 *       of a push that gives it the role.
 *   I2  A submitted node is handled once.
 *   I3  Wait-free forms: nodes are handled in the order in which the tail was swapped.
 *   I4  The stub is in the queue at most once. While it is not, only the consumer reaches it.
 *
 * Races
 *   R1  Interleaving: a consumer takes the last node out, and is about to handle it; a producer
 *       finds the queue empty, and is a second consumer. Prevented by: a node leaves the queue
 *       after it has been handled (I1).
 *   R2  Lock-free. Interleaving: the owner of the top node gets it back and submits it again; the
 *       consumer's CAS takes the new submission for the old one, so that two were submitted and one
 *       is handled. Prevented by: done() of the node that the CAS compares with comes after it.
 *   R3  Wait-free. Interleaving: consumer and producer each leave the role to the other. Prevented
 *       by: both swap the same link; the second has the role.
 *   R4  Wait-free. Interleaving: the consumer reads a node that its owner has back. Prevented by:
 *       done() comes when the next link has been read. After a handoff it is the new consumer that
 *       calls done() for the old one's last node.
 *   R5  With stub. Interleaving: a consumer hands off, and its last node is never handled.
 *       Prevented by: the new consumer begins with that node, unless it is the stub. */
#include <volt/bcs_queue.h>

void volt_bcs_lockfree_submit_ops(volt_bcs_lockfree *q, volt_bcs_node *node,
                                  const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_lockfree_consume_(q, node, ops, ctx);
}

void volt_bcs_waitfree_submit_ops(volt_bcs_waitfree *q, volt_bcs_node *node,
                                  const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_waitfree_consume_(q, node, ops, ctx);
}

/* ---- wait-free, with stub ---- */

/* What a consumer of the form with a stub works with. */
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

/* *at has not been handled. Make sure that something follows it: the next node, or the stub.
 * Returns the link to that, or 0: handed off, and *at is left to the next consumer. */
static uintptr_t stub_follow(volt_bcs_waitfree_stub *q, volt_bcs_node *at, struct stub_work *w) {
  uintptr_t next = volt_bcs_waitfree_next_(at);
  if (next != 0) return next;
  volt_store_relaxed(&q->stub.next, 0); /* I4: the consumer's; published by bcs_queue:T2 */
  uintptr_t stub = volt_bcs_link_to_(&q->stub);
  uintptr_t seen = volt_bcs_link_to_(at);
  /* bcs_queue:T2 -> bcs_queue:T1: a producer that links behind the stub sees its next as empty */
  if (volt_cas_release(&q->tail, &seen, stub)) return stub;
  stub_flush(w);
  /* bcs_queue:N3 <-> bcs_queue:N1: sees the node linked meanwhile, or shows what was done here */
  return volt_exchange_acq_rel(&at->next, volt_bcs_sentinel_(w->state));
}

/* Everything in front of the stub has been handled. Returns the link to the node behind it, or 0:
 * the role is given up or handed off. */
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
